/** One fault of a soak: bring about its state, stop requests at its checkpoints, inject, mend. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connections } from '../../connections/connections.ts';
import { DeadlinePassed } from '../../errors.ts';
import type { CheckpointName } from '../../trace/checkpoints.ts';
import { inject } from '../drills/recorded.ts';
import type { Recorder } from '../drills/timeline.ts';
import type { Lab } from '../environment/lab.ts';
import { instanceNames, workerNames } from '../environment/servers/service.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { ServiceRefused } from '../errors.ts';
import type { Fault, Undo } from '../faults/fault.ts';
import { pauseServer } from '../faults/pause-server.ts';
import type { Arrival } from '../races/race-keys.ts';
import { cellName, purchaseCheckpoints, type SaleState, workerCheckpoints } from './cells.ts';
import type { Probes } from './probes.ts';
import { soakFaults } from './soak-faults.ts';
import type { SoakSale } from './soak-sale.ts';
import type { PlannedFault } from './steering.ts';
import { Stops } from './stops.ts';

export interface Scene {
  readonly lab: Lab;
  readonly connections: Connections;
  readonly sale: SoakSale;
  readonly probes: Probes;
  readonly recorder: Recorder;
}

export interface PlayedFault {
  /** For people: `kill worker api-worker-2 at recorded, sold-out`. */
  readonly text: string;
  /** The kinds of what was injected: the fault, and what brought about the state. */
  readonly injected: readonly string[];
  /** The cells that were reached. */
  readonly cells: readonly string[];
  readonly forMs: number;
  /** Why a cell was not reached. */
  readonly missed?: string;
}

/** So many orders wait: about half a second of sales. */
const leastBehind = 100;
const stateWithinMs = 8_000;

export async function playFault(scene: Scene, planned: PlannedFault): Promise<PlayedFault> {
  const { lab } = scene;
  const injection = new Injection(scene, planned);
  try {
    await lab.ensure(lab.shape);
    await injection.prepare();
    await injection.play();
  } catch (error) {
    // The machine was too slow to bring the state about: the cell stays unseen.
    if (!(error instanceof DeadlinePassed || error instanceof ServiceRefused)) throw error;
    injection.miss(error.message);
  } finally {
    await injection.end();
  }
  return injection.played;
}

class Injection {
  readonly #scene: Scene;
  readonly #planned: PlannedFault;
  readonly #stops: Stops;
  readonly #instance: string;
  readonly #forMs: number;
  readonly #undos: Undo[] = [];
  readonly #injected: string[] = [];
  readonly #reached: CheckpointName[] = [];
  readonly #standing = new Set<number>();
  #voucherId = '';
  #worker: string | undefined;
  #cells: string[] = [];
  #missed: string | undefined;
  #free: Promise<{ answered: Promise<unknown> }> | undefined;

  constructor(scene: Scene, planned: PlannedFault) {
    const { lab, connections, probes, sale } = scene;
    const { target, instance, duration } = planned;
    const { leastMs, mostMs } = soakFaults[target.fault];
    const instances = instanceNames(lab.shape);
    this.#scene = scene;
    this.#planned = planned;
    // Most faults are short, so that many happen; few are long.
    this.#forMs = Math.round(leastMs + duration ** 3 * (mostMs - leastMs));
    this.#instance = instances[Math.floor(instance * instances.length)] ?? '';
    this.#stops = new Stops(connections.labRedis(), (requestId, headers) =>
      probes.send(this.#address, sale.plan(this.#voucherId, requestId), headers),
    );
  }

  /** A fault of an instance must find the purchases there. All others come through nginx. */
  get #address(): string {
    const { lab } = this.#scene;
    const { isOfInstance } = soakFaults[this.#planned.target.fault];
    return isOfInstance ? `http://127.0.0.1:${lab.portOf(this.#instance)}` : lab.baseUrl;
  }

  get played(): PlayedFault {
    const { fault, state, checkpoints } = this.#planned.target;
    const text = `${fault} at ${checkpoints.join(', ')}; ${state}`;
    const missed = this.#missed === undefined ? {} : { missed: this.#missed };
    return {
      text: this.#missed === undefined ? text : `${text} (missed)`,
      injected: this.#injected,
      cells: this.#cells,
      forMs: this.#forMs,
      ...missed,
    };
  }

  miss(why: string): void {
    this.#missed = why;
  }

  /** The worker first: while it stands, its voucher sells out or the queue falls behind. */
  async prepare(): Promise<void> {
    const { sale } = this.#scene;
    const { checkpoints, state } = this.#planned.target;
    const plenty = await sale.offerPlenty();
    this.#voucherId = state === 'sold-out' ? await sale.offerShort() : plenty;
    for (const checkpoint of workerCheckpoints.filter((each) => checkpoints.includes(each))) {
      const arrival = await this.#stops.workerAt(checkpoint);
      this.#worker = arrival?.instance;
      this.#stands(checkpoint, arrival);
    }
    if (state === 'queue-behind') await this.#pauseOtherWorkers();
    await waitUntil(state, stateWithinMs, () => this.#isState(state));
    const wanted = purchaseCheckpoints.filter((each) => checkpoints.includes(each));
    const stops = wanted.map(async (checkpoint) => {
      this.#stands(checkpoint, await this.#stops.purchaseAt(checkpoint));
    });
    await Promise.all(stops);
  }

  #stands(checkpoint: CheckpointName, arrival: Arrival | null): void {
    if (!arrival) return;
    this.#reached.push(checkpoint);
    this.#standing.add(arrival.pid);
  }

  /** What stood at a checkpoint goes on while the fault lasts. */
  async play(): Promise<void> {
    const { lab } = this.#scene;
    const { target } = this.#planned;
    const { fault, state, checkpoints } = target;
    if (this.#reached.length < checkpoints.length)
      this.miss(`stood only at ${this.#reached.join(', ') || 'none'}`);
    if (this.#reached.length === 0 || !(await this.#isStill(state))) return;
    const place = {
      ...{ lab, instance: this.#instance, worker: this.#worker ?? '' },
      ...{ standing: [...this.#standing], forMs: this.#forMs, seed: this.#planned.seed },
    };
    await this.#inject(fault, soakFaults[fault].fault(place));
    await this.#freeAll();
    await sleep(this.#forMs);
    const { spoils } = soakFaults[fault];
    if (spoils && (await lab.network('proxied').spoiled(spoils)) === 0)
      this.miss(`no connection to ${spoils}`);
    else this.#cells = this.#reached.map((checkpoint) => cellName(checkpoint, target));
  }

  /** Always: nothing stays broken, and no request stays where it stands. */
  async end(): Promise<void> {
    this.#scene.sale.endShort();
    for (const undo of this.#undos.reverse()) await undo();
    const { answered } = await this.#freeAll();
    await answered;
  }

  #freeAll(): Promise<{ answered: Promise<unknown> }> {
    this.#free ??= this.#stops.free();
    return this.#free;
  }

  async #inject(kind: string, fault: Fault): Promise<void> {
    const { lab, recorder } = this.#scene;
    this.#injected.push(kind);
    const undo = await inject(lab, fault, recorder).catch(async (error: unknown) => {
      await lab.heal(); // What the fault broke before it failed has no undo.
      throw error;
    });
    this.#undos.push(undo);
  }

  async #pauseOtherWorkers(): Promise<void> {
    const { shape } = this.#scene.lab;
    for (const name of workerNames(shape).filter((each) => each !== this.#worker))
      await this.#inject('pause another worker', pauseServer(name));
  }

  #isStill(state: SaleState): Promise<boolean> {
    return this.#isState(state).catch(() => false); // Redis did not answer: it is not known.
  }

  async #isState(state: SaleState): Promise<boolean> {
    const { connections } = this.#scene;
    const redis = connections.redis('admin');
    const { voucher, queued } = connections.saleKeys.of(this.#voucherId);
    if (state === 'queue-behind') return (await redis.hlen(queued)) >= leastBehind;
    const stock = await redis.hget(voucher(this.#voucherId), 'stock');
    return state === 'sold-out' ? stock === '0' : Number(stock) > 0;
  }
}
