/** One fault of a soak: bring about its state, stop requests at its checkpoints, inject, mend. */
import { isServiceError } from '../../service/errors.ts';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import { instanceNames, workerNames } from '../environment/servers/service.ts';
import { isLabError } from '../errors.ts';
import type { Fault, Undo } from '../faults/fault.ts';
import { pauseServer } from '../faults/process.ts';
import { type Arrival, workerLane } from '../stage/lane-messages.ts';
import type { Player } from '../stage/player.ts';
import type { Bilingual, Text } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import { isFinal, type Try } from '../workload/steady-purchases.ts';
import {
  cellName,
  neededConnections,
  type PlannedFault,
  purchaseCheckpoints,
  type SaleState,
  soakFaultOn,
  soakFaults,
  workerCheckpoints,
} from './soak-faults.ts';
import type { SoakSale } from './soak-sale.ts';

export interface PlayedFault {
  /** For people: `kill worker at recorded; sold-out`. */
  readonly text: Bilingual;
  /** The kinds of what was injected: the fault, and what brought about the state. */
  readonly injected: readonly string[];
  /** The cells that were reached. */
  readonly cells: readonly string[];
  readonly forMs: number;
  /** Why a cell was not reached. */
  readonly missed?: Text;
}

/** So many orders wait: about half a second of sales. */
const behindMin = 100;
const stateWithinMs = 8_000;
const arriveWithinMs = 8_000;
/** Longer than a request waits for its answer. */
const answeredWithinMs = 35_000;

export async function playFault(
  stage: Stage,
  sale: SoakSale,
  planned: PlannedFault,
): Promise<PlayedFault> {
  const { lab } = stage;
  const injection = new Injection(stage, sale, planned);
  try {
    await lab.ensure(lab.shape);
    await injection.prepare();
    await injection.play();
  } catch (error) {
    // The machine was too slow to bring the state about: the cell stays unseen.
    if (!(isServiceError(error, 'DEADLINE_PASSED') || isLabError(error, 'SERVICE_REFUSED')))
      throw error;
    injection.miss(error.message);
  } finally {
    await injection.end();
  }
  return injection.played;
}

class Injection {
  readonly #stage: Stage;
  readonly #sale: SoakSale;
  readonly #planned: PlannedFault;
  /** Two players, so that only the order that is meant for it stops a worker. */
  readonly #purchases: Player;
  readonly #orders: Player;
  readonly #instance: string;
  readonly #forMs: number;
  readonly #undos: Undo[] = [];
  readonly #injected: string[] = [];
  readonly #reached: CheckpointName[] = [];
  readonly #standing = new Set<number>();
  #voucherId = '';
  #worker: string | undefined;
  #cells: string[] = [];
  #missed: Text | undefined;
  #sent: Promise<unknown> = Promise.resolve();
  #free: Promise<unknown> | undefined;

  constructor(stage: Stage, sale: SoakSale, planned: PlannedFault) {
    const { target, instance, duration } = planned;
    const { leastMs, mostMs } = soakFaults[target.fault].lasts;
    const instances = instanceNames(stage.lab.shape);
    this.#stage = stage;
    this.#sale = sale;
    this.#planned = planned;
    // Most faults are short, so that many happen; few are long.
    this.#forMs = Math.round(leastMs + duration ** 3 * (mostMs - leastMs));
    this.#instance = instances[Math.floor(instance * instances.length)] ?? '';
    this.#purchases = stage.player();
    this.#orders = stage.player();
  }

  /** A purchase that stops: sent once. Without a final answer, the load sends it until then. */
  async #buy(requestId: string, headers: Readonly<Record<string, string>> = {}): Promise<Try> {
    const purchase = this.#sale.plan(this.#voucherId, requestId);
    const attempt = await this.#stage.buy(purchase, { baseUrl: this.#address, headers });
    if (!isFinal(attempt)) this.#sale.repeat(purchase);
    return attempt;
  }

  /** A fault of an instance must find the purchases there. All others come through nginx. */
  get #address(): string {
    const { lab } = this.#stage;
    const { to } = soakFaults[this.#planned.target.fault];
    return to === 'instance' ? `http://127.0.0.1:${lab.portOf(this.#instance)}` : lab.baseUrl;
  }

  get played(): PlayedFault {
    const { fault, state, checkpoints } = this.#planned.target;
    const missed = this.#missed;
    const isMissed = missed !== undefined;
    const text = {
      en: `${fault} at ${checkpoints.join(', ')}; ${state}${isMissed ? ' (missed)' : ''}`,
      zh: `${fault}，在 ${checkpoints.join('、')}；${state}${isMissed ? '（错过）' : ''}`,
    };
    const [injected, cells, forMs] = [this.#injected, this.#cells, this.#forMs];
    return { text, injected, cells, forMs, ...(isMissed && { missed }) };
  }

  miss(why: Text): void {
    this.#missed = why;
  }

  /** The worker first: while it stands, its voucher sells out or the queue falls behind. */
  async prepare(): Promise<void> {
    const { checkpoints, state } = this.#planned.target;
    const plenty = await this.#sale.offerPlenty();
    this.#voucherId = state === 'sold-out' ? await this.#sale.offerShort() : plenty;
    for (const checkpoint of workerCheckpoints.filter((each) => checkpoints.includes(each)))
      this.#worker = (await this.#workerAt(checkpoint))?.instance;
    if (state === 'queue-behind') await this.#pauseOtherWorkers();
    await this.#stage.until(state, stateWithinMs, () => this.#isState(state));
    const wanted = purchaseCheckpoints.filter((each) => checkpoints.includes(each));
    await Promise.all(wanted.map((checkpoint) => this.#purchaseAt(checkpoint)));
  }

  /** Its lane has its name. */
  #purchaseAt(checkpoint: CheckpointName): Promise<Arrival | null> {
    const { requestId, headers } = this.#purchases;
    const send = () => this.#buy(requestId(checkpoint), headers(checkpoint));
    this.#purchases.add(checkpoint, send);
    return this.#arrive(this.#purchases, checkpoint, checkpoint);
  }

  /** Buys, and stops the worker that takes the order. */
  async #workerAt(checkpoint: CheckpointName): Promise<Arrival | null> {
    await this.#orders.armWorker();
    this.#sent = this.#buy(this.#orders.requestId('A'));
    const arrival = await this.#arrive(this.#orders, workerLane, checkpoint);
    await this.#orders.disarmWorker();
    return arrival;
  }

  /** @returns where the lane stands; null when it did not arrive. */
  async #arrive(player: Player, lane: string, at: CheckpointName): Promise<Arrival | null> {
    const reached = await player.to(lane, [at], { withinMs: arriveWithinMs });
    if (reached.kind !== 'paused') return null;
    this.#reached.push(at);
    this.#standing.add(reached.arrival.pid);
    return reached.arrival;
  }

  /** What stood at a checkpoint goes on while the fault lasts. */
  async play(): Promise<void> {
    const { lab } = this.#stage;
    const { target } = this.#planned;
    const { fault, state, checkpoints } = target;
    if (this.#reached.length < checkpoints.length)
      this.miss({
        en: `stood only at ${this.#reached.join(', ') || 'none'}`,
        zh: `只停在：${this.#reached.join('、') || '无'}`,
      });
    if (this.#reached.length === 0 || !(await this.#isStill(state))) return;
    const place = {
      lab,
      instance: this.#instance,
      worker: this.#worker ?? '',
      standing: [...this.#standing],
      forMs: this.#forMs,
      seed: this.#planned.seed,
    };
    await this.#inject(fault, soakFaultOn(fault, place));
    this.#freeAll().catch(() => {}); // `end` waits for it.
    await this.#stage.rest(this.#forMs);
    const needed = neededConnections(fault);
    if (needed && (await lab.network('proxied').spoiled(needed)) === 0)
      this.miss({ en: `no connection to ${needed}`, zh: `没有到 ${needed} 的连接` });
    else this.#cells = this.#reached.map((checkpoint) => cellName(checkpoint, target));
  }

  /** Always: nothing stays broken, and no request stays where it stands. */
  async end(): Promise<void> {
    this.#sale.endShort();
    for (const undo of this.#undos.reverse()) await undo();
    await this.#freeAll();
  }

  /** All go on. Resolves when every client has an answer. */
  #freeAll(): Promise<unknown> {
    this.#free ??= this.#orders.freeAll().then(() => {
      const answered = this.#purchases.finish(answeredWithinMs);
      return Promise.allSettled([answered, this.#sent]);
    });
    return this.#free;
  }

  async #inject(kind: string, fault: Fault): Promise<void> {
    this.#injected.push(kind);
    const undo = await this.#stage.inject(fault).catch(async (error: unknown) => {
      await this.#stage.lab.heal(); // What the fault broke before it failed has no undo.
      throw error;
    });
    this.#undos.push(undo);
  }

  async #pauseOtherWorkers(): Promise<void> {
    const { shape } = this.#stage.lab;
    for (const name of workerNames(shape).filter((each) => each !== this.#worker))
      await this.#inject('pause another worker', pauseServer(name));
  }

  #isStill(state: SaleState): Promise<boolean> {
    return this.#isState(state).catch(() => false); // Redis did not answer: it is not known.
  }

  async #isState(state: SaleState): Promise<boolean> {
    const { connections } = this.#stage;
    const redis = connections.redis('admin');
    const { voucher, queued } = connections.saleKeys.of(this.#voucherId);
    if (state === 'queue-behind') return (await redis.hlen(queued)) >= behindMin;
    const stock = await redis.hget(voucher(this.#voucherId), 'stock');
    return state === 'sold-out' ? stock === '0' : Number(stock) > 0;
  }
}
