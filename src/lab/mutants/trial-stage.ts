/** What a trial does: users buy, a worker stops at a checkpoint, a fault is injected. */
import { randomUUID } from 'node:crypto';
import { Agent } from 'undici';
import { collectFacts } from '../../audit/collect.ts';
import type { Attempt, Facts } from '../../audit/facts.ts';
import { readHistory } from '../../audit/read-history.ts';
import type { Connections } from '../../connections/connections.ts';
import { type RowDataPacket, select } from '../../connections/mysql.ts';
import { signToken } from '../../http/tokens.ts';
import type { CheckpointName } from '../../trace/checkpoints.ts';
import type { Lab } from '../environment/lab.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { TrialNotPlayed, UnknownVoucher } from '../errors.ts';
import type { Fault, Undo } from '../faults/fault.ts';
import { type Arrival, workerLane } from '../races/race-keys.ts';
import { buyOnce } from '../workload/buy-once.ts';
import { Meeting } from './meeting.ts';

/** After the last fault is mended. The real rung needs a few seconds, also on a slow machine. */
const settlesWithinMs = 30_000;
const happensWithinMs = 20_000;

interface Buying {
  /** The request is repeated with the same name. */
  readonly requestId?: string;
  /** The address of one instance; nginx without it. */
  readonly baseUrl?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Session extends RowDataPacket {
  readonly Id: number | string;
  readonly Time: number | string;
  readonly Info: string | null;
}

interface Sale {
  readonly lab: Lab;
  readonly connections: Connections;
  readonly voucherId: string;
}

export class TrialStage {
  readonly lab: Lab;
  readonly connections: Connections;
  readonly voucherId: string;
  readonly #attempts: Attempt[] = [];
  readonly #undos: Undo[] = [];
  readonly #lastUndos: Undo[] = [];
  readonly #meetings: Meeting[] = [];
  readonly #agent = new Agent({ headersTimeout: 30_000 });

  constructor({ lab, connections, voucherId }: Sale) {
    this.lab = lab;
    this.connections = connections;
    this.voucherId = voucherId;
  }

  /** A purchase, and its answer. */
  async buy(userId: string, { requestId, baseUrl, headers }: Buying = {}): Promise<Attempt> {
    const token = await signToken(this.connections.config.TOKEN_SECRET, userId, 'user');
    const intent = { userId, requestId: requestId ?? randomUUID() };
    const url = `${baseUrl ?? this.lab.baseUrl}/vouchers/${this.voucherId}/orders`;
    const attempt = await buyOnce(this.#agent, url, intent, token, headers);
    this.#attempts.push(attempt);
    return attempt;
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
    throw new TrialNotPlayed(`user ${userId} was answered ${reason ?? outcome}`);
  }

  /** User 7 buys; the worker that consumes the order stops at this checkpoint. */
  async workerAt(checkpoint: CheckpointName): Promise<Arrival & { readonly worker: Meeting }> {
    const race = randomUUID();
    const worker = this.#meeting(race, workerLane);
    await worker.arm();
    await this.accepted('7', { requestId: `${race}-A` });
    return { ...(await worker.until(checkpoint)), worker };
  }

  /** A purchase with these headers stops at every checkpoint. */
  meetRequest(): { readonly headers: Record<string, string>; readonly request: Meeting } {
    const race = randomUUID();
    return { headers: { 'x-lab-lane': `${race}:A` }, request: this.#meeting(race, 'A') };
  }

  #meeting(race: string, lane: string): Meeting {
    const meeting = new Meeting(this.connections.labRedis(), race, lane);
    this.#meetings.push(meeting);
    return meeting;
  }

  /** @returns what mends it; it is mended before the orders must settle. */
  inject(fault: Fault): Promise<Undo> {
    return this.#inject(fault, this.#undos);
  }

  /** It is mended only after the audit: what it breaks must be survived. */
  injectToTheEnd(fault: Fault): Promise<Undo> {
    return this.#inject(fault, this.#lastUndos);
  }

  async #inject(fault: Fault, undos: Undo[]): Promise<Undo> {
    const undo = await fault.inject(this.lab);
    let mending: Promise<void> | undefined;
    const once = () => {
      mending ??= undo();
      return mending;
    };
    undos.push(once);
    return once;
  }

  /** @throws DeadlinePassed */
  until(description: string, condition: () => Promise<boolean>): Promise<void> {
    return waitUntil(description, happensWithinMs, condition);
  }

  /** The status of the order in MySQL; undefined when MySQL does not have it. */
  async statusOf(orderId: string): Promise<string | undefined> {
    const sql = 'SELECT status FROM orders WHERE id = ?';
    const [row] = await select<{ status: string }>(this.connections.mysql(), sql, [orderId]);
    return row?.status;
  }

  /** Whether Redis has this user as a buyer. */
  async isBuyer(userId: string): Promise<boolean> {
    const { buyers } = this.connections.saleKeys.of(this.voucherId);
    return (await this.connections.redis('admin').hexists(buyers(this.voucherId), userId)) === 1;
  }

  /** The session of MySQL in which such a statement runs, for so many seconds at least. */
  async idOf(begin: string, seconds: number): Promise<number | undefined> {
    const [sessions] = await this.connections.mysql().query<Session[]>('SHOW FULL PROCESSLIST');
    const session = sessions.find(
      ({ Info, Time }) => Info?.startsWith(begin) && Number(Time) >= seconds,
    );
    return session && Number(session.Id);
  }

  async isRunning(begin: string, seconds: number): Promise<boolean> {
    return (await this.idOf(begin, seconds)) !== undefined;
  }

  /** Each instance has its connections again. */
  instancesReady(): Promise<void> {
    return this.lab.ensure(this.lab.shape);
  }

  /** Recorded, and acknowledged. @throws DeadlinePassed */
  async recorded(orderId: string): Promise<void> {
    await this.until(`order ${orderId} to be recorded`, async () => {
      const isRecorded = (await this.statusOf(orderId)) === 'confirmed';
      return isRecorded && !(await this.#queued()).includes(orderId);
    });
  }

  /** Mends every fault, the last one first, but for those that last to the end. */
  async mend(): Promise<void> {
    for (const meeting of this.#meetings) await meeting.end();
    for (const undo of this.#undos.toReversed()) await undo();
  }

  async end(): Promise<void> {
    await this.mend();
    for (const undo of this.#lastUndos.toReversed()) await undo();
    await this.#agent.destroy();
  }

  /** Waits until no order of the voucher is queued. @returns false after the deadline. */
  async settles(): Promise<boolean> {
    const isSettled = async () => (await this.#queued()).length === 0;
    const waiting = waitUntil('the orders to settle', settlesWithinMs, isSettled);
    return waiting.then(
      () => true,
      () => false,
    );
  }

  async facts(): Promise<Facts> {
    await this.connections.ready();
    const collected = await collectFacts(this.connections, this.voucherId);
    if (!collected) throw new UnknownVoucher(this.voucherId);
    const history = readHistory(this.lab.historyFolder, this.voucherId);
    return { ...collected, attempts: this.#attempts, ...history };
  }

  async #queued(): Promise<string[]> {
    const { queued } = this.connections.saleKeys.of(this.voucherId);
    const notes = await this.connections.redis('admin').hgetall(queued);
    const own = Object.entries(notes).filter(([, note]) => note.startsWith(`${this.voucherId}:`));
    return own.map(([orderId]) => orderId);
  }
}
