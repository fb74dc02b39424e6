/**
 * What an experiment is played on: the lab, loads, faults, players and facts. All that happens on
 * it is emitted. What an experiment leaves broken, the stage mends.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import type { Attempt, Facts } from '../../service/audit/facts.ts';
import { readHistory } from '../../service/audit/read-history.ts';
import type { Connections } from '../../service/connections/connections.ts';
import { signToken } from '../../service/http/tokens.ts';
import type { RungName } from '../../service/ladder/rungs.ts';
import type { Lab } from '../environment/lab.ts';
import { openConnections } from '../environment/lab-connections.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { waitUntil } from '../environment/wait-until.ts';
import type { Fault, Undo } from '../faults/fault.ts';
import { buyOnce } from '../workload/buy-once.ts';
import { allDrained } from '../workload/drained.ts';
import { type Rush, rush, warmUp } from '../workload/rush.ts';
import { type NewSale, provideFor, putOnSale } from '../workload/sale.ts';
import { buySteadily, type Purchase, type Try } from '../workload/steady-purchases.ts';
import type { Emit } from './events.ts';
import { answerLost } from './place.ts';
import { Player } from './player.ts';
import type { Bilingual, Judged } from './result.ts';

export interface Load {
  /** For people: the rung. */
  readonly name: string;
  readonly purchases: Iterable<Purchase>;
  readonly perSecond: number;
  /** Buyers arrive in bursts of this size, with equal pauses. */
  readonly atOnce?: number;
  /** The most requests under way. */
  readonly clients?: number;
  /** One request for each purchase, whatever its answer. */
  readonly repeats?: false;
  /** Once it aborts, no purchase is begun. */
  readonly ending?: AbortSignal;
  /** It goes on so long after the work, until every purchase is final. Without it, it ends then. */
  readonly finishWithinMs?: number;
}

/** How one purchase is sent, where it is not as everybody sends it. */
export interface Sending {
  /** Of one instance; nginx without it. */
  readonly baseUrl?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** `lab/vouchers/7/nested-orders`. */
  readonly path?: string;
  /** It may stand for as long as a person thinks. */
  readonly waitsLong?: boolean;
  /** Asked when the answer comes: whether it is lost on its way to the buyer. */
  readonly losesAnswer?: () => boolean;
}

/** The moments are nanoseconds of the clock of the tries. */
export interface InjectedFault {
  readonly name: string;
  readonly at: bigint;
  healedAt?: bigint;
}

/** So long a request waits for its answer. */
const answerWithinMs = 30_000;

export class Stage {
  readonly lab: Lab;
  /** Aborts at Ctrl-C. Every wait on the stage then throws its reason. */
  readonly signal: AbortSignal;
  readonly emit: Emit;
  /** Every answer so far. */
  readonly tries: Try[] = [];
  /** The faults so far, in order. */
  readonly injected: InjectedFault[] = [];
  readonly #agent = new Agent({ headersTimeout: answerWithinMs, pipelining: 0 });
  readonly #patientAgent = new Agent({ headersTimeout: 0, pipelining: 0 });
  readonly #undos = new Map<number, Undo>();
  readonly #mending = new Map<number, Promise<void>>();
  readonly #players: Player[] = [];
  #connections: Connections | undefined;
  /** A fault that failed half-way has no undo. */
  #isHalfBroken = false;
  #keepsHistory = true;

  constructor(lab: Lab, signal: AbortSignal, emit: Emit) {
    this.lab = lab;
    this.signal = signal;
    this.emit = emit;
  }

  /** As the service has them. @throws RangeError before `serve` */
  get connections(): Connections {
    if (!this.#connections) throw new RangeError('serve() opens the connections of a stage');
    return this.#connections;
  }

  /** The service runs in this shape, and every instance answers. */
  async serve(shape: ServiceShape): Promise<void> {
    this.signal.throwIfAborted();
    await this.#connections?.close();
    await this.lab.ensure(shape);
    await this.connect();
  }

  /** To the stores of a service that runs already. */
  async connect(): Promise<void> {
    const { instances, network = 'direct', settings } = this.lab.shape;
    this.#connections = await openConnections(this.lab, settings);
    this.#connections.labRedis(); // A player uses it at once.
    await this.#connections.ready();
    this.#keepsHistory = settings?.['HISTORY_FOLDER'] !== '';
    this.emit({ kind: 'service', instances, network });
  }

  /** @returns the id of a voucher that every instance has in memory. @throws SERVICE_REFUSED */
  async putOnSale(sale: NewSale): Promise<string> {
    this.signal.throwIfAborted();
    const { rung, stock } = sale;
    await provideFor(this.lab, rung);
    const voucherId = await putOnSale(this.lab, sale);
    this.emit({ kind: 'on-sale', voucherId, rung, stock });
    return voucherId;
  }

  /** Before a load: the instances have their code compiled, and the rung open. */
  async warmUp(rung: RungName, seed: number): Promise<void> {
    await warmUp(this.lab, { rung, seed, requestsPerEagerUser: 1 }, this.connections);
  }

  async buy(
    purchase: Purchase,
    { baseUrl, headers, path, waitsLong = false, losesAnswer = () => false }: Sending = {},
  ): Promise<Try> {
    const { voucherId, userId } = purchase;
    const token = await signToken(this.lab.tokenSecret, userId, 'user');
    const url = `${baseUrl ?? this.lab.baseUrl}/${path ?? `vouchers/${voucherId}/orders`}`;
    const agent = waitsLong ? this.#patientAgent : this.#agent;
    const answer = await buyOnce(agent, url, purchase, token, headers);
    const attempt = { ...(losesAnswer() ? withoutAnswer(answer) : answer), voucherId };
    this.#answered(attempt);
    return attempt;
  }

  /** Sells while `work` runs. Its argument has the answers of this load, and grows with each. */
  async during<T>(load: Load, work: (tries: readonly Try[]) => Promise<T>): Promise<T> {
    const { finishWithinMs } = load;
    const giveUp = new AbortController();
    const tries: Try[] = [];
    const buying = this.#sell(load, AbortSignal.any([this.signal, giveUp.signal]), tries);
    buying.catch(() => {}); // It is awaited below.
    let late: NodeJS.Timeout | undefined;
    try {
      const result = await work(tries);
      if (finishWithinMs === undefined) giveUp.abort();
      else late = setTimeout(() => giveUp.abort(), finishWithinMs);
      await buying;
      this.signal.throwIfAborted();
      return result;
    } finally {
      clearTimeout(late);
      giveUp.abort();
      await Promise.allSettled([buying]);
    }
  }

  /** Sends every purchase until its answer is final. @returns the tries */
  async sell(load: Load & Required<Pick<Load, 'finishWithinMs'>>): Promise<readonly Try[]> {
    return this.during(load, async (tries) => tries);
  }

  /** All users at once: see `rush`. Resolves when everyone is answered. */
  async rush(plan: Omit<Rush, 'baseUrl' | 'tokenSecret' | 'onAttempt'>): Promise<Attempt[]> {
    this.signal.throwIfAborted();
    const { baseUrl, tokenSecret } = this.lab;
    const { voucherId } = plan;
    const onAttempt = (attempt: Attempt) => this.#answered({ ...attempt, voucherId });
    return this.#loading('rush', () => rush({ ...plan, baseUrl, tokenSecret, onAttempt }));
  }

  /** @returns what mends it. The stage mends it at the end, if nobody did. */
  async inject(fault: Fault): Promise<Undo> {
    this.signal.throwIfAborted();
    const { name } = fault;
    const id = this.injected.push({ name, at: process.hrtime.bigint() });
    this.emit({ kind: 'fault', id, name });
    const undo = await fault.inject(this.lab).catch((error: unknown) => {
      this.#isHalfBroken = true;
      this.emit({ kind: 'healed', id, name });
      throw error;
    });
    this.#undos.set(id, undo);
    return () => this.#mend(id);
  }

  /** @throws DEADLINE_PASSED: then the verdict is unknown, unless the experiment catches it. */
  until(
    what: string,
    withinMs: number,
    condition: () => Promise<boolean> | boolean,
    everyMs?: number,
  ): Promise<void> {
    return waitUntil(what, withinMs, condition, everyMs, this.signal);
  }

  async rest(ms: number): Promise<void> {
    await sleep(Math.max(0, ms), undefined, { signal: this.signal });
  }

  note(text: Bilingual): void {
    this.emit({ kind: 'note', text });
  }

  player(): Player {
    const { emit, signal } = this;
    const player = new Player({ redis: this.connections.labRedis(), emit, signal });
    this.#players.push(player);
    return player;
  }

  /** Removes the history so far. Facts have none from now on. */
  forgetHistory(): void {
    const { historyFolder } = this.lab;
    for (const file of readdirSync(historyFolder))
      rmSync(join(historyFolder, file), { force: true });
    this.#keepsHistory = false;
  }

  triesOf(voucherId: string): Try[] {
    return this.tries.filter((each) => each.voucherId === voucherId);
  }

  /** About a voucher once its orders are recorded, with the answers of this stage. */
  async facts(voucherId: string, drainWithinMs?: number): Promise<Facts> {
    const [facts] = await this.allFacts([voucherId], drainWithinMs);
    return facts as Facts;
  }

  /** The same about several, after one wait. */
  async allFacts(voucherIds: readonly string[], drainWithinMs?: number): Promise<Facts[]> {
    this.signal.throwIfAborted();
    await this.connections.ready();
    const collected = await allDrained(this.connections, voucherIds, drainWithinMs);
    const attempts = Map.groupBy(this.tries, ({ voucherId }) => voucherId);
    return collected.map((facts) => ({
      ...facts,
      attempts: attempts.get(facts.voucherId) ?? [],
      ...(this.#keepsHistory && readHistory(this.lab.historyFolder, facts.voucherId)),
    }));
  }

  /** Always, at last: no lane stands, every fault is mended, the last one first. */
  async end(): Promise<void> {
    try {
      await Promise.allSettled(this.#players.map((player) => player.freeAll()));
      for (const id of [...this.#undos.keys()].reverse()) await this.#mend(id).catch(() => {});
      if (this.#isHalfBroken) await this.lab.heal();
    } finally {
      await this.#connections?.close();
      await Promise.all([this.#agent, this.#patientAgent].map((agent) => agent.destroy()));
    }
  }

  /** Once, however often it is called. When it fails, the stage heals the lab in the end. */
  #mend(id: number): Promise<void> {
    const mending = this.#mending.get(id) ?? this.#undo(id);
    this.#mending.set(id, mending);
    return mending;
  }

  async #undo(id: number): Promise<void> {
    try {
      await this.#undos.get(id)?.();
    } catch (error) {
      this.#isHalfBroken = true;
      throw error;
    } finally {
      this.#undos.delete(id);
    }
    const injected = this.injected[id - 1];
    if (injected) injected.healedAt = process.hrtime.bigint();
    this.emit({ kind: 'healed', id, name: injected?.name ?? '' });
  }

  async #sell(load: Load, giveUp: AbortSignal, tries: Try[]): Promise<void> {
    const { name, purchases, perSecond: purchasesPerSecond, finishWithinMs: _, ...limits } = load;
    const { baseUrl, tokenSecret } = this.lab;
    const onTry = (attempt: Try) => {
      tries.push(attempt);
      this.#answered(attempt, name);
    };
    const interruption = this.signal;
    const to = { baseUrl, tokenSecret, purchasesPerSecond, giveUp, interruption, onTry };
    await this.#loading(name, () => buySteadily(purchases, { ...to, ...limits }));
  }

  async #loading<T>(name: string, load: () => Promise<T>): Promise<T> {
    this.emit({ kind: 'load-started', name });
    try {
      return await load();
    } finally {
      this.emit({ kind: 'load-ended', name });
    }
  }

  #answered(attempt: Try, load?: string): void {
    this.tries.push(attempt);
    this.emit({ kind: 'purchase', attempt, ...(load && { load }) }, attempt.answeredAt);
  }
}

/** What its buyer knows of a purchase whose answer was lost. */
const withoutAnswer = ({ orderId: _, instance: __, ...attempt }: Attempt): Attempt => ({
  ...attempt,
  outcome: 'unknown',
  reason: answerLost,
});

/** A stage for work without a runner. It is ended with the work. */
export async function withStage<T>(
  lab: Lab,
  signal: AbortSignal,
  work: (stage: Stage) => Promise<T>,
  emit: Emit = () => {},
): Promise<T> {
  const stage = new Stage(lab, signal, emit);
  try {
    return await work(stage);
  } finally {
    await stage.end();
  }
}

/** An experiment is a row: one sentence, and how it is played on a stage. */
export interface Experiment<Options extends object, Own = unknown> {
  readonly about: Bilingual;
  play(stage: Stage, options: Options): Promise<Judged<Own>>;
  /** What it has when Ctrl-C ends it, beside what the stage has seen. */
  soFar?(): Partial<Judged<Own>>;
}
