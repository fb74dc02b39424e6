/**
 * The lanes of a play: where each of them is, and whether they are still. A lane that runs and does
 * not move waits: for the owner of a lock, as the history says, or for a row, as InnoDB says. Where
 * neither can say it, a lane waits when nothing has moved for a time.
 */

import { serviceError } from '../../service/errors.ts';
import type { Rung } from '../../service/ladder/rung.ts';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import type { HistoryEvent } from '../../service/trace/history.ts';
import { workerLane } from '../stage/lane-messages.ts';
import type { Place } from '../stage/place.ts';
import { type Player, placeOfLane } from '../stage/player.ts';
import type { Stage } from '../stage/stage.ts';
import { HistoryTail } from './history-tail.ts';
import { LaneLocks } from './lane-locks.ts';
import type { PlayFaults } from './play-faults.ts';
import type { PlayWorker } from './play-worker.ts';
import type { RowWaits } from './row-waits.ts';

export interface LanesSetUp {
  readonly stage: Stage;
  readonly player: Player;
  readonly rung: Rung;
  readonly faults: PlayFaults;
  /** Of the buyers. */
  readonly names: readonly string[];
  /** Undefined inside a load, whose purchases wait for rows too: then a time decides. */
  readonly rowWaits: RowWaits | undefined;
  /** How long a lane may wait for a lock without an owner before it is said to wait. */
  readonly ownerlessMs: number;
  /** A lane stands at this checkpoint. It passes the others. */
  readonly isStop: (lane: string, checkpoint: CheckpointName) => boolean;
  readonly hears?: (lane: string, event: HistoryEvent) => void;
  /** Called when lanes seem to wait for rows; the second look confirms it. */
  readonly seemStill?: () => void;
}

const lookEveryMs = 2;
/** InnoDB refreshes `information_schema.innodb_trx` every 100 ms: a second look comes later. */
const rowLooksApartMs = 130;
const silentMs = 30;
/** Inside a load. */
const rowWaitMs = 1_200;

export class Lanes {
  readonly locks: LaneLocks;
  /** The order worker, where it is a lane. */
  worker: PlayWorker | undefined;
  readonly #of: LanesSetUp;
  readonly #history: HistoryTail;
  readonly #instances = new Map<string, string>();
  #movedAt = 0;

  constructor(of: LanesSetUp) {
    this.#of = of;
    this.locks = new LaneLocks(of.rung.lockService === undefined);
    this.#history = new HistoryTail(of.stage.lab.historyFolder);
  }

  /** Waits until nothing moves any more. @throws DEADLINE_PASSED when something still does */
  async untilStill(withinMs: number): Promise<void> {
    if (await this.#until(withinMs, () => this.#areStill())) return;
    throw serviceError('DEADLINE_PASSED', `${this.#moving().join(', ')} to stand still`, withinMs);
  }

  /**
   * Runs until the lane is at a checkpoint, or is answered.
   * @param mayWait also until it waits
   * @returns undefined when none of these came in time
   */
  async settled(lane: string, mayWait: boolean, withinMs: number): Promise<Place | undefined> {
    const isThere = async () => {
      const areStill = mayWait && (await this.#areStill());
      if (!mayWait) await this.look();
      return areStill || ['at', 'answered'].includes(this.place(lane).is);
    };
    return (await this.#until(withinMs, isThere)) ? this.place(lane) : undefined;
  }

  async #until(withinMs: number, isOver: () => Promise<boolean>): Promise<boolean> {
    const deadline = performance.now() + withinMs;
    this.#movedAt = performance.now();
    while (performance.now() < deadline) {
      if (await isOver()) return true;
      await this.#of.stage.rest(lookEveryMs);
    }
    return false;
  }

  async #areStill(): Promise<boolean> {
    const hasMoved = await this.look();
    if (hasMoved) this.#movedAt = performance.now();
    const moving = this.#moving();
    if (moving.length === 0) return !hasMoved;
    const silentForMs = performance.now() - this.#movedAt;
    if (silentForMs > silentMs && (await this.#areAtRows(moving, silentForMs))) return true;
    const waitInVain = silentForMs > this.#of.ownerlessMs && moving.every(this.#waitsInVain);
    if (waitInVain) this.worker?.giveUp();
    return waitInVain;
  }

  #waitsInVain = (lane: string): boolean =>
    lane === workerLane ? (this.worker?.mayWaitInVain ?? false) : this.locks.isRefused(lane);

  get #all(): readonly string[] {
    return [...this.#of.names, workerLane];
  }

  /** Lanes at a checkpoint that is no stop go on. @returns whether anything has happened */
  async look(): Promise<boolean> {
    const { player, isStop } = this.#of;
    let hasHappened = await player.look();
    for (const event of this.#history.read()) hasHappened = this.#read(event) || hasHappened;
    await this.worker?.look();
    for (const lane of this.#all) {
      const state = player.state(lane);
      if (state?.kind !== 'paused' || isStop(lane, state.arrival.checkpoint)) continue;
      await player.resume(lane);
      hasHappened = true;
    }
    return hasHappened;
  }

  /** @returns false for one of another play */
  #read(event: HistoryEvent): boolean {
    const { names, player, hears } = this.#of;
    const lane = names.find((each) => player.requestId(each) === event.requestId);
    if (lane === undefined) return false;
    if (event.event === 'received') this.#instances.set(lane, event.instance);
    this.locks.read(lane, event);
    hears?.(lane, event);
    this.worker?.read(event);
    return true;
  }

  /** The instance that has the request of the lane. */
  instanceOf(lane: string): string | undefined {
    return this.#instances.get(lane);
  }

  #moving(): string[] {
    const moving = this.#of.names.filter((lane) => this.#isMoving(lane));
    return this.worker?.isMoving ? [...moving, workerLane] : moving;
  }

  #isMoving(lane: string): boolean {
    const isRunning = this.#of.player.state(lane)?.kind === 'running';
    return isRunning && !this.#of.faults.isDead(lane) && this.locks.waitedFor(lane).length === 0;
  }

  isStanding(lane: string): boolean {
    return this.#of.player.state(lane)?.kind === 'paused';
  }

  /** Only they have transactions here: so they wait when as many wait as still run. */
  async #areAtRows(moving: readonly string[], silentForMs: number): Promise<boolean> {
    const { rowWaits, stage, seemStill } = this.#of;
    if (!rowWaits) return silentForMs > rowWaitMs;
    if (!this.#all.some((lane) => this.isStanding(lane))) return false;
    if ((await rowWaits()) < moving.length) return false;
    seemStill?.();
    await stage.rest(rowLooksApartMs);
    return !(await this.look()) && (await rowWaits()) >= moving.length;
  }

  /** One that runs is said to wait: it does so once the lanes are still. */
  place(lane: string): Place {
    const { faults, player } = this.#of;
    if (lane === workerLane && this.worker) return this.worker.place;
    if (faults.isDead(lane)) return { is: 'dead' };
    if (faults.isPaused(lane)) return { is: 'paused' };
    const state = player.state(lane);
    if (!state) return { is: 'idle' };
    return state.kind === 'running' ? this.#waiting(lane) : placeOfLane(state);
  }

  #waiting(lane: string): Place {
    const owners = this.locks.waitedFor(lane);
    if (owners.length > 0) {
      const isForDead = owners.every((owner) => this.#of.faults.isDead(owner));
      return { is: 'waits', on: 'lock', for: owners.join(', '), isForDead };
    }
    return this.locks.isRefused(lane) ? { is: 'waits', on: 'lock' } : this.#waitingForRow(lane);
  }

  /** Another lane that stands may have changed the row: with one such lane, it is that one. */
  #waitingForRow(lane: string): Place {
    const [owner, ...others] = this.#all.filter(
      (other) => other !== lane && this.isStanding(other),
    );
    const isKnown = owner !== undefined && others.length === 0;
    return { is: 'waits', on: 'row', ...(isKnown && { for: owner }) };
  }
}
