/**
 * The contract of every trial: a sale, and a fault at the moment that decides. On its stage users
 * buy, a worker stops at a checkpoint, a fault is injected.
 */

import { randomUUID } from 'node:crypto';
import type { Attempt, Facts } from '../../service/audit/facts.ts';
import { readHistory } from '../../service/audit/read-history.ts';
import type { Connections } from '../../service/connections/connections.ts';
import { type RowDataPacket, select } from '../../service/connections/mysql.ts';
import type { CheckName } from '../../service/domain.ts';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import type { Lab } from '../environment/lab.ts';
import { isInTime, waitFor } from '../environment/wait-until.ts';
import { labError } from '../errors.ts';
import type { Fault, Undo } from '../faults/fault.ts';
import { type Arrival, workerLane } from '../stage/lane-messages.ts';
import type { Lane, Player } from '../stage/player.ts';
import type { Bilingual } from '../stage/result.ts';
import type { Sending, Stage } from '../stage/stage.ts';
import { factsOf } from '../workload/drained.ts';

export interface Trial {
  /** The fault, for people. */
  readonly fault: Bilingual;
  readonly stock: number;
  /** What the fault breaks on every rung, and so is not judged: the check, and why. */
  readonly breaks?: Readonly<Partial<Record<CheckName, string>>>;
  /** @throws when the moment that decides was not reached: then nothing is proven. */
  readonly play: (stage: TrialStage) => Promise<void>;
}

/** After the last fault is mended. The real rung needs a few seconds, also on a slow machine. */
const happensWithinMs = 20_000;
const arrivesWithinMs = 15_000;

export interface WorkerAt extends Arrival {
  readonly worker: Lane;
  /** Arms and disarms it. */
  readonly player: Player;
}

interface Buying extends Sending {
  /** The request is repeated with the same name. */
  readonly requestId?: string;
}

interface Session extends RowDataPacket {
  readonly Id: number | string;
  readonly Time: number | string;
  readonly Info: string | null;
}

export class TrialStage {
  readonly lab: Lab;
  readonly connections: Connections;
  readonly voucherId: string;
  readonly #stage: Stage;
  readonly #undos: Undo[] = [];
  readonly #players: Player[] = [];

  constructor(stage: Stage, voucherId: string) {
    this.lab = stage.lab;
    this.connections = stage.connections;
    this.voucherId = voucherId;
    this.#stage = stage;
  }

  /** A purchase, and its answer. */
  buy(userId: string, { requestId = randomUUID(), ...sending }: Buying = {}): Promise<Attempt> {
    return this.#stage.buy({ voucherId: this.voucherId, userId, requestId }, sending);
  }

  /**
   * Waits while the instances connect to Redis again.
   * @throws unless it is accepted: the trial proves nothing then.
   */
  async accepted(userId: string, buying?: Buying): Promise<string> {
    let attempt = await this.buy(userId, buying);
    await this.until('Redis to be ready', async () => {
      if (attempt.reason !== 'not-ready') return true;
      attempt = await this.buy(userId, buying);
      return false;
    });
    const { outcome, reason, orderId } = attempt;
    if (outcome === 'accepted' && orderId) return orderId;
    throw labError('TRIAL_NOT_PLAYED', `user ${userId} was answered ${reason ?? outcome}`);
  }

  /** User 7 buys; the worker that consumes the order stops at this checkpoint. */
  async workerAt(checkpoint: CheckpointName): Promise<WorkerAt> {
    const player = this.#player();
    await player.armWorker();
    await this.accepted('7', { requestId: player.requestId('A') });
    const worker = player.lane(workerLane, arrivesWithinMs);
    return { ...(await worker.until(checkpoint)), worker, player };
  }

  /** A purchase with these headers stops at every checkpoint. */
  meetRequest(): { readonly headers: Record<string, string>; readonly request: Lane } {
    const player = this.#player();
    player.watch('A');
    return { headers: player.headers('A'), request: player.lane('A', arrivesWithinMs) };
  }

  #player(): Player {
    const player = this.#stage.player();
    this.#players.push(player);
    return player;
  }

  /** @returns what mends it; it is mended before the orders must settle. */
  async inject(fault: Fault): Promise<Undo> {
    const undo = await this.#stage.inject(fault);
    this.#undos.push(undo);
    return undo;
  }

  /** It is mended only after the audit: what it breaks must be survived. */
  injectToTheEnd(fault: Fault): Promise<Undo> {
    return this.#stage.inject(fault);
  }

  /** @throws DEADLINE_PASSED */
  until(description: string, condition: () => Promise<boolean>, everyMs?: number): Promise<void> {
    return this.#stage.until(description, happensWithinMs, condition, everyMs);
  }

  /** Whether Redis has this user as a buyer. */
  async isBuyer(userId: string): Promise<boolean> {
    const { buyers } = this.connections.saleKeys.of(this.voucherId);
    return (await this.connections.redis('admin').hexists(buyers(this.voucherId), userId)) === 1;
  }

  /**
   * Waits until a statement that begins so has run for a second.
   * @returns its session of MySQL. @throws DEADLINE_PASSED
   */
  waitingSession(description: string, ...begins: readonly string[]): Promise<number> {
    const find = async () => {
      const [sessions] = await this.connections.mysql().query<Session[]>('SHOW FULL PROCESSLIST');
      const session = sessions.find(
        ({ Info, Time }) => Number(Time) >= 1 && begins.some((begin) => Info?.startsWith(begin)),
      );
      return session ? Number(session.Id) : null;
    };
    return waitFor(description, happensWithinMs, find, undefined, this.#stage.signal);
  }

  /** Each instance has its connections again. */
  instancesReady(): Promise<void> {
    return this.lab.ensure(this.lab.shape);
  }

  /** Recorded, and acknowledged. @throws DEADLINE_PASSED */
  async recorded(orderId: string): Promise<void> {
    const sql = "SELECT id FROM orders WHERE id = ? AND status = 'confirmed'";
    await this.until(`order ${orderId} to be recorded`, async () => {
      const isRecorded = (await select(this.connections.mysql(), sql, [orderId])).length > 0;
      return isRecorded && !(await this.#queued()).includes(orderId);
    });
  }

  /** No lane stands, and every fault is mended but those that last to the end. */
  async mend(): Promise<void> {
    for (const player of this.#players) await player.freeAll();
    for (const undo of this.#undos.toReversed()) await undo();
  }

  /** Waits until no order of the voucher is queued. @returns false after the deadline. */
  async settles(withinMs: number): Promise<boolean> {
    const isSettled = async () => (await this.#queued()).length === 0;
    return isInTime(this.#stage.until('the orders to settle', withinMs, isSettled));
  }

  async facts(): Promise<Facts> {
    await this.connections.ready();
    const collected = await factsOf(this.connections, this.voucherId);
    const history = readHistory(this.lab.historyFolder, this.voucherId);
    return { ...collected, attempts: this.#stage.tries, ...history };
  }

  async #queued(): Promise<string[]> {
    const { queued } = this.connections.saleKeys.of(this.voucherId);
    const notes = await this.connections.redis('admin').hgetall(queued);
    const own = Object.entries(notes).filter(([, note]) => note.startsWith(`${this.voucherId}:`));
    return own.map(([orderId]) => orderId);
  }
}
