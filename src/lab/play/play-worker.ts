/**
 * The order worker in a play of choices. It takes an order by itself, and stands with it until it
 * is moved: before the order is recorded, and before the queue hears that it is.
 */

import { queuedIn, type SalePlace, salePlaceOf } from '../../service/audit/collect.ts';
import type { Circumstance, Rung } from '../../service/ladder/rung.ts';
import { type RungName, rungNamed } from '../../service/ladder/rungs.ts';
import type { HistoryEvent } from '../../service/trace/history.ts';
import { labError } from '../errors.ts';
import type { Undo, WatchedFault } from '../faults/fault.ts';
import { pauseServer, restartServer, stopWorkers } from '../faults/process.ts';
import type { LaneEvent } from '../stage/events.ts';
import { workerLane } from '../stage/lane-messages.ts';
import type { Place } from '../stage/place.ts';
import type { Player } from '../stage/player.ts';
import type { Stage } from '../stage/stage.ts';
import { lockProbe } from './lock-probe.ts';
import { injectWatched } from './play-faults.ts';

const backWithinMs = 15_000;
const lookEveryMs = 20;

export interface WorkerPlay {
  readonly stage: Stage;
  readonly player: Player;
  readonly rung: RungName;
  readonly voucherId: string;
}

export class PlayWorker {
  readonly #of: WorkerPlay;
  readonly #rung: Rung;
  readonly #sale: SalePlace;
  /** How often the order of a request was queued, less how often it was delivered. */
  readonly #ahead = new Map<string, number>();
  readonly #accepted = new Set<string>();
  readonly #inHand = new Set<string>();
  readonly #settled = new Set<string>();
  /** It has stood where what it has in hand is recorded. */
  #hasRecorded = false;
  #startAgain: Undo | undefined;
  #resume: Undo | undefined;
  /** An order that it had, or that came while it was away, may be gone. */
  #mayHaveLost = false;

  private constructor(of: WorkerPlay, sale: SalePlace) {
    this.#of = of;
    this.#sale = sale;
    this.#rung = rungNamed(of.rung);
  }

  /** From now on the orders of this play stop it. */
  static async arm(of: WorkerPlay): Promise<PlayWorker> {
    const sale = await salePlaceOf(of.stage.connections, of.voucherId);
    if (!sale) throw labError('UNKNOWN_VOUCHER', of.voucherId);
    await of.player.armWorker();
    return new PlayWorker(of, sale);
  }

  /** An event of a request of this play. */
  read({ event, checkpoint, requestId }: HistoryEvent): void {
    const ahead = this.#ahead.get(requestId) ?? 0;
    if (event === 'recorded' || event === 'dead-lettered') this.#settled.add(requestId);
    if (this.#isQueued(event, checkpoint, requestId)) this.#ahead.set(requestId, ahead + 1);
    if (event !== 'checkpoint' || checkpoint !== 'delivered') return;
    this.#ahead.set(requestId, ahead - 1); // It may be delivered before the instance says so.
    this.#inHand.add(requestId);
    this.#hasRecorded = false;
  }

  /** Where the sale and the queue are one step, a repeated request queues nothing. */
  #isQueued(event: string, checkpoint: string | undefined, requestId: string): boolean {
    if (this.#rung.chapter === 5) return event === 'checkpoint' && checkpoint === 'published';
    const isFirst = event === 'accepted' && !this.#accepted.has(requestId);
    if (isFirst) this.#accepted.add(requestId);
    return isFirst;
  }

  get #isAwaited(): boolean {
    return [...this.#ahead.values()].some((count) => count > 0);
  }

  get place(): Place {
    if (this.#startAgain) return { is: 'stopped' };
    if (this.#resume) return { is: 'paused' };
    const state = this.#of.player.state(workerLane);
    if (state?.kind !== 'paused') return { is: 'free' };
    const { checkpoint, instance, orderId } = state.arrival;
    return { is: 'at', checkpoint, instance, orderId };
  }

  get isMoving(): boolean {
    return this.place.is === 'free' && (this.#isAwaited || this.#inHand.size > 0);
  }

  /** The order that it waits for may be lost, and then it waits for ever. */
  get mayWaitInVain(): boolean {
    return this.#mayHaveLost && this.#inHand.size === 0;
  }

  /** Nothing came. */
  giveUp(): void {
    for (const requestId of this.#ahead.keys()) this.#ahead.set(requestId, 0);
  }

  /** It has settled what it had in hand, once its queue does not note it any more. */
  async look(): Promise<void> {
    const { place } = this;
    if (place.is === 'at') this.#hasRecorded ||= place.checkpoint === 'recorded';
    if (place.is !== 'free' || this.#inHand.size === 0 || !this.#hasRecorded) return;
    // A queue in an instance has it in hand again when it could not be recorded.
    if (this.#isInProcess && ![...this.#inHand].every((each) => this.#settled.has(each))) return;
    const { connections } = this.#of.stage;
    if ((await queuedIn(connections.redis('admin'), this.#sale)).length > 0) return;
    this.#inHand.clear();
    this.#mayHaveLost = false;
    this.#tell({ is: 'free', because: 'settled' });
  }

  get canDie(): boolean {
    return this.place.is === 'at' || (this.place.is === 'free' && !this.#isInProcess);
  }

  /** The name of its process; of the instance, where the queue is in one. */
  get process(): string {
    const { place } = this;
    return place.is === 'at' ? place.instance : 'api-worker-1';
  }

  /** Its process is killed, and its primary starts another. */
  async kill(): Promise<void> {
    const name = this.process;
    this.#tell({ is: 'dead' });
    await this.#break(restartServer(name), ['worker-dies']);
    await this.#begin();
  }

  get canPause(): boolean {
    return !this.#isInProcess && ['at', 'free'].includes(this.place.is);
  }

  async pause(): Promise<void> {
    const { undo } = await injectWatched([pauseServer(this.process)], this.#of.stage);
    this.#resume = undo;
  }

  get canResume(): boolean {
    return this.#resume !== undefined;
  }

  async resume(): Promise<void> {
    const resume = this.#resume;
    this.#resume = undefined;
    await resume?.();
  }

  /** It runs, and stops no more. */
  async free(): Promise<void> {
    await this.resume();
    await this.#startAgain?.();
    await this.#of.player.freeWorker();
  }

  get canStop(): boolean {
    return !this.#startAgain && !this.#resume && !this.#isInProcess;
  }

  async stop(): Promise<void> {
    this.#startAgain = await this.#break(stopWorkers, ['worker-dies', 'worker-away']);
  }

  get canStart(): boolean {
    return this.#startAgain !== undefined;
  }

  async start(): Promise<void> {
    const startAgain = this.#startAgain;
    this.#startAgain = undefined;
    await startAgain?.();
    await this.#begin();
  }

  /** The queue is in the instances, and consumed there. */
  get #isInProcess(): boolean {
    return this.#rung.queueInProcess ?? false;
  }

  /** A server behind the sale was broken: what is queued there may be gone. */
  serversBroken(name: string): void {
    this.#mayHaveLost ||= this.#rung.breaks.some(({ under }) => under === name);
  }

  /** What it had in hand may come again. */
  async #break(fault: WatchedFault, circumstances: readonly Circumstance[]): Promise<Undo> {
    const { undo } = await injectWatched([fault], this.#of.stage);
    const hits = (under: Circumstance) =>
      circumstances.includes(under) && (under !== 'worker-dies' || this.#inHand.size > 0);
    this.#mayHaveLost = this.#rung.breaks.some(({ under }) => hits(under));
    for (const requestId of this.#inHand) this.#ahead.set(requestId, 1);
    this.#inHand.clear();
    this.#hasRecorded = false;
    return undo;
  }

  /** It stands with an order, or has recorded one of another voucher. */
  async #begin(): Promise<void> {
    const { player, stage, rung } = this.#of;
    player.watch(workerLane);
    this.#tell({ is: 'free', because: 'started' });
    if (this.#isInProcess) return stage.lab.ensure(stage.lab.shape);
    const probe = await lockProbe(stage, rung);
    const isBack = async () => {
      await player.look();
      return this.place.is === 'at' || (await probe.hasRecorded());
    };
    await stage.until('the order worker to be back', backWithinMs, isBack, lookEveryMs);
  }

  #tell(event: LaneEvent): void {
    const { stage, player } = this.#of;
    stage.emit({ kind: 'lane', player: player.id, lane: workerLane, ...event });
  }
}
