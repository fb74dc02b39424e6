/**
 * Lanes that somebody moves: each choice runs one lane to its next stop. A choice is over when
 * nothing moves any more: every lane stands, is answered, or waits for another one.
 */
import type { Attempt } from '../../audit/facts.ts';
import { DeadlinePassed } from '../../errors.ts';
import type { Rung } from '../../ladder/rung.ts';
import { type RungName, rungNamed } from '../../ladder/rungs.ts';
import type { Undo } from '../faults/fault.ts';
import { killProcess } from '../faults/processes/kill-process.ts';
import { injectWatched } from '../races/inject-watched.ts';
import type { Player } from '../stage/player.ts';
import type { Stage } from '../stage/stage.ts';
import { HistoryTail } from './history-tail.ts';
import { LaneLocks } from './lane-locks.ts';
import type { RowWaits } from './row-waits.ts';
import { killLetter, stockOf, stopsOf, userOf } from './set-up.ts';

/** Where a lane is after a choice. */
export type Place =
  | { readonly is: 'idle' }
  | { readonly is: 'at'; readonly checkpoint: string; readonly instance: string }
  /** For the owner of a lock; without one, for a row of the database. */
  | { readonly is: 'waits'; readonly for?: string; readonly isForDead?: boolean }
  | { readonly is: 'dead' }
  | { readonly is: 'answered'; readonly attempt: Attempt };

export interface Choice {
  /** As it was written: `A`, `XA`. */
  readonly choice: string;
  readonly lane: string;
  /** False: the lane could not go. */
  readonly taken: boolean;
  /** Of every lane, afterwards. */
  readonly places: ReadonlyMap<string, Place>;
}

/** A lane that still moves after it proves nothing. */
const stillWithinMs = 10_000;
const lookEveryMs = 2;
/** Longer than InnoDB's table of transactions may be old (100 ms in MariaDB). */
const rowLooksApartMs = 120;
const silentMs = 30;

export class ChoicePlay {
  readonly voucherId: string;
  readonly lanes: readonly string[];
  readonly #stage: Stage;
  readonly #rung: Rung;
  readonly #player: Player;
  readonly #locks: LaneLocks;
  readonly #history: HistoryTail;
  readonly #rowWaits: RowWaits;
  /** The lanes whose process was killed, and what starts another one. */
  readonly #dead = new Map<string, Undo>();

  private constructor(stage: Stage, rung: RungName, lanes: readonly string[], given: Given) {
    this.#stage = stage;
    this.#rung = rungNamed(rung);
    this.lanes = lanes;
    this.voucherId = given.voucherId;
    this.#rowWaits = given.rowWaits;
    this.#player = stage.player();
    this.#locks = new LaneLocks(this.#rung.lockService === undefined);
    this.#history = new HistoryTail(stage.lab.historyFolder);
  }

  /** On a fresh voucher; each lane in an instance of its own. */
  static async begin(
    stage: Stage,
    rung: RungName,
    lanes: readonly string[],
    rowWaits: RowWaits,
  ): Promise<ChoicePlay> {
    const sale = { title: `choices on ${rung}`, stock: stockOf(rung), rung };
    const voucherId = await stage.putOnSale(sale);
    const play = new ChoicePlay(stage, rung, lanes, { voucherId, rowWaits });
    for (const [index, lane] of lanes.entries()) play.#add(lane, index, userOf(rung, index));
    return play;
  }

  #add(lane: string, index: number, userId: string): void {
    const { lab } = this.#stage;
    const player = this.#player;
    const baseUrl = `http://127.0.0.1:${lab.portOf(`api-${index + 1}`)}`;
    const purchase = { voucherId: this.voucherId, userId, requestId: player.requestId(lane) };
    player.add(lane, () => this.#stage.buy(purchase, { baseUrl, headers: player.headers(lane) }));
  }

  /** The lanes that a choice would move. */
  canGo(): string[] {
    return this.lanes.filter((lane) => ['idle', 'at'].includes(this.#place(lane).is));
  }

  /** @throws DeadlinePassed when a lane moves and does not arrive. */
  async choose(choice: string): Promise<Choice> {
    const lane = choice.at(-1) ?? '';
    const isKill = choice.startsWith(killLetter);
    const taken = isKill ? this.#place(lane).is === 'at' : this.canGo().includes(lane);
    if (taken) {
      await (isKill ? this.#kill(lane) : this.#player.resume(lane));
      await this.#untilStill();
    }
    return { choice, lane, taken, places: this.#places() };
  }

  async #kill(lane: string): Promise<void> {
    const state = this.#player.state(lane);
    if (state?.kind !== 'paused') return;
    await this.#killProcess(lane, state.arrival.pid, `the process of ${lane}`);
    this.#locks.died(lane);
  }

  async #killProcess(lane: string, pid: number, name: string): Promise<void> {
    const { undo } = await injectWatched([killProcess(pid, name)], this.#stage);
    this.#dead.set(lane, undo);
  }

  #places(): ReadonlyMap<string, Place> {
    return new Map(this.lanes.map((each) => [each, this.#place(each)]));
  }

  /** Whether a purchase ended with its process, and not with an answer. */
  isKilled({ requestId }: Pick<Attempt, 'requestId'>): boolean {
    return [...this.#dead.keys()].some((lane) => this.#player.requestId(lane) === requestId);
  }

  /**
   * Every lane that was chosen goes on to its answer. One that waits for a dead lane is ended, too.
   * @returns where they are then, if any moved or waits
   */
  async finish(): Promise<Choice | null> {
    const isOpen = (lane: string) => ['at', 'waits'].includes(this.#place(lane).is);
    const isAt = (lane: string) => this.#place(lane).is === 'at';
    const open = this.lanes.filter(isOpen);
    while (open.some(isAt)) await this.choose(open.find(isAt) ?? '');
    const places = this.#places();
    for (const lane of this.lanes.filter(isOpen))
      await this.#killProcess(lane, this.#pidOf(lane), `the process of ${lane}, to end its wait`);
    for (const startAnother of this.#dead.values()) await startAnother();
    await this.#player.finish(stillWithinMs);
    return open.length > 0 ? { choice: '(rest)', lane: '', taken: true, places } : null;
  }

  /** After an error: no lane stays where it is, with what it has locked. */
  async abandon(): Promise<void> {
    await this.#player.finish(stillWithinMs);
  }

  #pidOf(lane: string): number {
    return this.#stage.lab.pidOf(`api-${this.lanes.indexOf(lane) + 1}`);
  }

  async #untilStill(): Promise<void> {
    const deadline = performance.now() + stillWithinMs;
    let movedAt = performance.now();
    while (performance.now() < deadline) {
      const hasMoved = await this.#look();
      if (hasMoved) movedAt = performance.now();
      const moving = this.#moving();
      if (moving.length === 0 && !hasMoved) return;
      const isSilent = moving.length > 0 && performance.now() - movedAt > silentMs;
      if (isSilent && (await this.#areAtRows(moving))) return;
      await this.#stage.rest(lookEveryMs);
    }
    throw new DeadlinePassed(`${this.#moving().join(', ')} to stand still`, stillWithinMs);
  }

  /** Lanes at a checkpoint that is no stop go on. @returns whether anything has happened */
  async #look(): Promise<boolean> {
    const arrived = await this.#player.look();
    const events = this.#history.read();
    for (const event of events) {
      const lane = this.lanes.find((each) => this.#player.requestId(each) === event.requestId);
      if (lane) this.#locks.read(lane, event);
    }
    let hasPassed = false;
    for (const lane of this.lanes) {
      const state = this.#player.state(lane);
      if (state?.kind !== 'paused' || this.#isStop(state.arrival.checkpoint)) continue;
      await this.#player.resume(lane);
      hasPassed = true;
    }
    return arrived || hasPassed || events.length > 0;
  }

  #isStop(checkpoint: string): boolean {
    return stopsOf(this.#rung).some((stop) => stop === checkpoint);
  }

  #moving(): string[] {
    return this.lanes.filter(
      (lane) =>
        !this.#dead.has(lane) &&
        this.#player.state(lane)?.kind === 'running' &&
        this.#locks.waitedFor(lane).length === 0,
    );
  }

  /** Only they have transactions here: so they wait when as many wait as still run. */
  async #areAtRows(moving: readonly string[]): Promise<boolean> {
    if (!this.lanes.some((lane) => this.#player.state(lane)?.kind === 'paused')) return false;
    if ((await this.#rowWaits()) < moving.length) return false;
    await this.#stage.rest(rowLooksApartMs);
    return !(await this.#look()) && (await this.#rowWaits()) >= moving.length;
  }

  #place(lane: string): Place {
    if (this.#dead.has(lane)) return { is: 'dead' };
    const state = this.#player.state(lane);
    if (!state) return { is: 'idle' };
    if (state.kind === 'answered') return { is: 'answered', attempt: state.attempt };
    if (state.kind === 'paused') {
      const { checkpoint, instance } = state.arrival;
      return { is: 'at', checkpoint, instance };
    }
    const owners = this.#locks.waitedFor(lane);
    if (owners.length === 0) return { is: 'waits' };
    const isForDead = owners.every((owner) => this.#dead.has(owner));
    return { is: 'waits', for: owners.join(', '), isForDead };
  }
}

interface Given {
  readonly voucherId: string;
  readonly rowWaits: RowWaits;
}
