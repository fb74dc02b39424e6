/**
 * The order worker in a play of choices. It takes an order by itself, and stands with it until it
 * is moved: before the order is recorded, and before the queue hears that it is.
 */
import { queuedIn, type SalePlace, salePlaceOf } from '../../audit/collect.ts';
import type { Circumstance, Rung } from '../../ladder/rung.ts';
import { type RungName, rungNamed } from '../../ladder/rungs.ts';
import type { HistoryEvent } from '../../trace/history.ts';
import { UnknownVoucher } from '../errors.ts';
import type { Undo, WatchedFault } from '../faults/fault.ts';
import { restartServer } from '../faults/processes/restart-server.ts';
import { stopWorkers } from '../faults/processes/stop-workers.ts';
import { injectWatched } from '../races/inject-watched.ts';
import { lockProbe } from '../races/lock-probe.ts';
import type { LaneEvent } from '../stage/events.ts';
import { workerLane } from '../stage/lane-messages.ts';
import type { Player } from '../stage/player.ts';
import type { Stage } from '../stage/stage.ts';
import type { Place } from './places.ts';

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
  /** The requests whose order is accepted, and that no worker has in hand. */
  readonly #awaited = new Set<string>();
  readonly #inHand = new Set<string>();
  /** What it has in hand is in MySQL, as far as it knows. */
  #isRecorded = false;
  #startAgain: Undo | undefined;
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
    if (!sale) throw new UnknownVoucher(of.voucherId);
    await of.player.armWorker();
    return new PlayWorker(of, sale);
  }

  /** An event of a request of this play. */
  read({ event, checkpoint, requestId }: HistoryEvent): void {
    if (event === 'accepted' && !this.#inHand.has(requestId)) this.#awaited.add(requestId);
    if (event !== 'checkpoint') return;
    if (checkpoint === 'recorded') this.#isRecorded = true;
    if (checkpoint !== 'delivered') return;
    this.#isRecorded = false;
    this.#awaited.delete(requestId);
    this.#inHand.add(requestId);
  }

  get place(): Place {
    if (this.#startAgain) return { is: 'stopped' };
    const state = this.#of.player.state(workerLane);
    if (state?.kind !== 'paused') return { is: 'free' };
    const { checkpoint, instance } = state.arrival;
    return { is: 'at', checkpoint, instance };
  }

  get isMoving(): boolean {
    return this.place.is === 'free' && this.#awaited.size + this.#inHand.size > 0;
  }

  /** What it waits for may never come. */
  get mayWaitInVain(): boolean {
    return this.#mayHaveLost && this.#inHand.size === 0;
  }

  /** Nothing came. */
  giveUp(): void {
    this.#awaited.clear();
  }

  /** It has settled what it had in hand, once its queue does not note it any more. */
  async look(): Promise<void> {
    if (this.place.is !== 'free' || this.#inHand.size === 0 || !this.#isRecorded) return;
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
    const { process } = this;
    this.#tell({ is: 'dead' });
    await this.#break(restartServer(process));
    await this.#begin();
  }

  /** It runs, and stops no more. */
  async free(): Promise<void> {
    await this.#startAgain?.();
    await this.#of.player.freeWorker();
  }

  get canStop(): boolean {
    return !this.#startAgain && !this.#isInProcess;
  }

  async stop(): Promise<void> {
    this.#startAgain = await this.#break(stopWorkers);
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

  /** What it had in hand may come again. */
  async #break(fault: WatchedFault): Promise<Undo> {
    const { undo } = await injectWatched([fault], this.#of.stage);
    for (const requestId of this.#inHand) this.#awaited.add(requestId);
    this.#inHand.clear();
    const losing: readonly Circumstance[] = ['worker-dies', 'worker-away'];
    this.#mayHaveLost = this.#rung.breaks.some(({ under }) => losing.includes(under));
    return undo;
  }

  /** It stands with an order, or has recorded one of another voucher. */
  async #begin(): Promise<void> {
    const { player, stage, rung } = this.#of;
    player.watch(workerLane);
    this.#tell({ is: 'free', because: 'started' });
    if (this.#isInProcess) return stage.lab.ensure(stage.lab.shape);
    const probe = await lockProbe(stage.lab, rung, stage.connections);
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
