/**
 * Lanes that somebody moves, unlike those of a race (`play-race.ts`): each choice runs one lane to
 * its next stop. A choice is over when nothing moves any more: every lane stands, is answered, or
 * waits for another one.
 */

import type { Attempt, Facts } from '../../service/audit/facts.ts';
import type { Rung } from '../../service/ladder/rung.ts';
import { type RungName, rungNamed } from '../../service/ladder/rungs.ts';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import type { HistoryEvent } from '../../service/trace/history.ts';
import type { PlayEvent, PlayedLane } from '../stage/events.ts';
import { workerLane } from '../stage/lane-messages.ts';
import { answerLost, isEnd, isSameWait, type Place } from '../stage/place.ts';
import type { Player } from '../stage/player.ts';
import type { Stage } from '../stage/stage.ts';
import { factsOf, ownQueueEmpty } from '../workload/drained.ts';
import { isOfLock } from './lane-locks.ts';
import { Lanes } from './lanes.ts';
import { actOf, isOfServers } from './letters.ts';
import { PlayActs } from './play-acts.ts';
import { PlayFaults } from './play-faults.ts';
import { PlayWorker } from './play-worker.ts';
import { judgedPromises, readingsOf } from './readings.ts';
import type { RowWaits } from './row-waits.ts';
import { everyStopOf, hasWorker, playedLanes, sendingOf, stockOf, stopsOf } from './set-up.ts';
import type { Wire, WireCommand } from './wire.ts';

/** After this time a moving lane fails the play. */
const stillWithinMs = 10_000;
/** How long a lane may wait for a lock without an owner before it is called stuck. */
const ownerlessMs = 1_000;

export interface Choice {
  /** As it was written: `A`, `XA`. */
  readonly choice: string;
  readonly lane: string;
  /** False: the lane could not go. */
  readonly taken: boolean;
  /** Of every lane, afterwards. */
  readonly places: ReadonlyMap<string, Place>;
  /** What it sent to Redis and MySQL, where that was asked for. */
  readonly commands?: readonly WireCommand[];
  /** Of a lease whose time has passed. */
  readonly isRenewed?: boolean;
  /** The lanes that had one lock at once, then or before. */
  readonly ownersAtOnce: readonly string[];
}

export class ChoicePlay {
  readonly voucherId: string;
  /** The buyers, and the order worker behind them. */
  readonly lanes: readonly string[];
  readonly #stage: Stage;
  readonly #rung: Rung;
  readonly #setUp: SetUp;
  readonly #player: Player;
  readonly #moves: Lanes;
  readonly #played: readonly PlayedLane[];
  readonly #faults: PlayFaults;
  readonly #acts: PlayActs;
  #isObserved: boolean;
  #places: ReadonlyMap<string, Place> = new Map();
  #steps = 0;
  #ownersAtOnce: readonly string[] = [];

  private constructor(stage: Stage, setUp: SetUp, voucherId: string) {
    this.#stage = stage;
    this.#setUp = setUp;
    this.#rung = rungNamed(setUp.rung);
    this.#faults = new PlayFaults(stage, this.#rung);
    this.voucherId = voucherId;
    this.#player = stage.player();
    this.#isObserved = setUp.isObserved ?? false;
    this.#played = playedLanes({ instances: stage.lab.shape.instances, ...setUp });
    this.lanes = this.#played.map(({ name }) => name);
    const buyers = this.#played.filter(({ name }) => name !== workerLane);
    this.#moves = new Lanes({
      stage,
      player: this.#player,
      rung: this.#rung,
      faults: this.#faults,
      ownerlessMs,
      names: buyers.map(({ name }) => name),
      rowWaits: setUp.rowWaits,
      isStop: (_, checkpoint) => this.#stops().includes(checkpoint),
      hears: (lane, event) => this.#tellLock(lane, event),
      seemStill: () => this.#tellWaits(this.#placesNow()), // At once.
    });
    this.#acts = new PlayActs({
      stage,
      rung: setUp.rung,
      voucherId,
      lanes: this.#played,
      player: this.#player,
      moves: this.#moves,
      faults: this.#faults,
    });
    for (const lane of buyers) this.#add(lane);
  }

  /** On a fresh voucher; each lane in an instance of its own. */
  static async begin(stage: Stage, setUp: SetUp): Promise<ChoicePlay> {
    const { rung, planned = '', slot = 'main', request = '', stopsEverywhere = false } = setUp;
    const stock = stockOf(rung);
    const voucherId = await stage.putOnSale({ title: `choices on ${rung}`, stock, rung });
    const play = new ChoicePlay(stage, setUp, voucherId);
    setUp.begins?.(play.id);
    const lanes = play.#played;
    if (hasWorker(rung)) {
      const player = play.#player;
      play.#moves.worker = await PlayWorker.arm({ stage, player, rung, voucherId });
    }
    setUp.wire?.about(voucherId, play.id);
    play.#places = play.#placesNow();
    play.#tell({
      kind: 'play',
      rung,
      voucherId,
      stock,
      lanes,
      stops: play.#stops(),
      planned,
      slot,
      request,
      stopsEverywhere,
    });
    await play.#observe(false).catch(async (error: unknown) => {
      await play.abandon().catch(() => {});
      throw error;
    });
    return play;
  }

  get id(): string {
    return this.#player.id;
  }

  #add({ name, userId, instance }: PlayedLane): void {
    const player = this.#player;
    const baseUrl = `http://127.0.0.1:${this.#stage.lab.portOf(instance)}`;
    const purchase = { voucherId: this.voucherId, userId, requestId: player.requestId(name) };
    const losesAnswer = () => this.#acts.losing.delete(name);
    player.add(name, () => {
      const sending = sendingOf(this.voucherId, {
        forgets: this.#acts.forgetting.has(name),
        isNested: this.#acts.nesting.has(name),
        headers: player.headers(name),
      });
      return this.#stage.buy(purchase, { ...sending, baseUrl, losesAnswer, waitsLong: true });
    });
  }

  /** Whether this choice is about a lane of this play, or about a server. */
  knows(choice: string): boolean {
    return isOfServers(actOf(choice)) || this.lanes.includes(actOf(choice).to);
  }

  /** What other plays would feel: a process that stands still, or servers that answer nobody. */
  get standsInTheWay(): boolean {
    return this.#acts.standsInTheWay;
  }

  get hasWorker(): boolean {
    return this.#moves.worker !== undefined;
  }

  get holdsWorker(): boolean {
    return this.#acts.holdsWorker;
  }

  #tell(event: PlayEvent): void {
    this.#stage.emit({ ...event, player: this.id });
  }

  canGo(): string[] {
    return this.#acts.canGo();
  }

  /** @throws DEADLINE_PASSED when a lane moves and does not arrive. */
  async choose(choice: string): Promise<Choice> {
    const startedAt = performance.now();
    const act = actOf(choice);
    const lane = this.lanes.includes(act.to) ? act.to : '';
    const isTaken = await this.#acts.canDo(act);
    this.#steps += 1;
    const step = this.#steps;
    this.#tell({ kind: 'choice', step, choice, lane, isTaken });
    const { wire } = this.#setUp;
    await wire?.skip();
    let came: unknown;
    if (isTaken) {
      came = await this.#acts.do(act);
      await this.#moves.untilStill(stillWithinMs);
      this.#lookAtOwners();
    }
    const commands = await wire?.take();
    const places = this.#placesNow();
    this.#tellWaits(places);
    await this.#observe(this.isOver());
    const ofLease = act.does === 'pass-time' ? { isRenewed: came === true } : {};
    this.#tell({ kind: 'still', step, tookMs: performance.now() - startedAt, ...ofLease });
    return {
      choice,
      lane,
      taken: isTaken,
      places,
      ownersAtOnce: this.#ownersAtOnce,
      ...ofLease,
      ...(commands && { commands }),
    };
  }

  /** Of a process that stands still, nobody hears that its lease has ended. */
  #lookAtOwners(): void {
    const isAwake = (lane: string) => !(this.#faults.isDead(lane) || this.#faults.isPaused(lane));
    const owners = this.#moves.locks.ownersAtOnce(isAwake);
    if (owners.length > 0) this.#ownersAtOnce = owners;
  }

  /** Nothing can be chosen any more. */
  isOver(): boolean {
    return this.lanes.every((lane) => isEnd(this.#moves.place(lane)));
  }

  #tellWaits(places: ReadonlyMap<string, Place>): void {
    for (const [lane, place] of places) {
      const before = this.#places.get(lane);
      if (place.is !== 'waits' || isSameWait(place, before)) continue;
      this.#tell({
        kind: 'waits',
        lane,
        on: place.on,
        isForDead: place.isForDead ?? false,
        ...(place.for !== undefined && { for: place.for }),
      });
    }
    this.#places = places;
  }

  /** Before the end, only what no later step can make right. */
  async #observe(isFinal: boolean): Promise<void> {
    if (!this.#isObserved) return;
    const { unreadable } = this.#acts.servers;
    if (unreadable.length > 0 && !isFinal) return this.#tell({ kind: 'readings', readings: [] });
    for (const name of unreadable) await this.#acts.mend(name);
    const facts = await this.facts(isFinal);
    const readings = await readingsOf({
      connections: this.#stage.connections,
      rung: this.#rung,
      facts,
      lanes: this.#played,
      locks: this.#moves.locks,
    });
    this.#tell({ kind: 'readings', readings });
    const owners = this.#ownersAtOnce;
    const isShared = owners.length > 0;
    const judged = judgedPromises(facts, isFinal);
    this.#tell({ kind: 'judged', ...judged, ...(isShared && { ownersAtOnce: owners }) });
  }

  /** @param isFinal once the queue of the rung is empty; the order worker of a play has said so. */
  async facts(isFinal: boolean): Promise<Facts> {
    const { voucherId } = this;
    const { connections, tries } = this.#stage;
    if (isFinal && this.#rung.queue && !this.#moves.worker)
      await ownQueueEmpty(connections, voucherId);
    const collected = await factsOf(connections, voucherId);
    return { ...collected, attempts: tries.filter((each) => each.voucherId === voucherId) };
  }

  #placesNow(): ReadonlyMap<string, Place> {
    return new Map(this.lanes.map((each) => [each, this.#moves.place(each)]));
  }

  /** Whether a purchase ended so because of a choice: with its process, or without a lock. */
  explains({ requestId, reason }: Pick<Attempt, 'requestId' | 'reason'>): boolean {
    if (this.#acts.hasBroken && reason === 'lock-service-unavailable') return true;
    const isOf = (lane: string) => this.#player.requestId(lane) === requestId;
    const isDead = this.lanes.some((lane) => isOf(lane) && this.#faults.isDead(lane));
    return isDead || reason === answerLost;
  }

  /**
   * Every lane that was chosen goes on to its answer. One that waits for a dead lane is ended, too.
   * @returns where they are then, if any moved or waits
   */
  async finish(): Promise<Choice | null> {
    for (const lane of this.lanes) await this.#faults.resume(lane);
    await this.#moves.worker?.resume();
    if (this.#moves.worker?.canStart) await this.choose(`H${workerLane}`);
    const isOpen = (lane: string) => ['at', 'waits'].includes(this.#moves.place(lane).is);
    const isAt = (lane: string) => this.#moves.place(lane).is === 'at';
    const open = this.lanes.filter(isOpen);
    for (let next = this.lanes.find(isAt); next !== undefined; next = this.lanes.find(isAt))
      await this.choose(next);
    const places = this.#placesNow();
    const keepsLock = (lane: string) => isOpen(lane) || this.#acts.forgetting.has(lane);
    for (const lane of this.lanes.filter(keepsLock))
      await this.#acts.killProcess(lane, `the process of ${lane}, to end its wait`);
    await this.#faults.mend();
    await this.#player.freeWorker(); // A second copy of an order may have come.
    await this.#player.finish(stillWithinMs);
    await this.#acts.recover();
    await this.#observe(true);
    const rest = { choice: '(rest)', lane: '', taken: true, places } as const;
    return open.length > 0 ? { ...rest, ownersAtOnce: this.#ownersAtOnce } : null;
  }

  /** Of one that nobody watches any more. What it cannot finish is freed. */
  async end(): Promise<void> {
    this.#isObserved = false;
    await this.finish().catch(() => this.abandon().catch(() => {}));
  }

  /** After an error: no lane stays where it is, with what it has locked. */
  async abandon(): Promise<void> {
    await this.#faults.mend().catch(() => {}); // The stage mends what is left.
    await this.#moves.worker?.free().catch(() => {});
    await this.#player.finish(stillWithinMs);
  }

  #tellLock(lane: string, event: HistoryEvent): void {
    if (!this.#rung.lock || !isOfLock(event)) return;
    const { event: what, resource, instance, fence } = event;
    this.#tell({
      kind: 'lock',
      lane,
      event: what,
      instance,
      ...(resource !== undefined && { resource }),
      ...(fence !== undefined && { fence }),
    });
  }

  #stops(): readonly CheckpointName[] {
    return this.#setUp.stopsEverywhere ? everyStopOf(this.#setUp.rung) : stopsOf(this.#setUp.rung);
  }
}

/** What a play begins with. */
export interface SetUp {
  readonly rung: RungName;
  /** The buyers. */
  readonly lanes: readonly string[];
  readonly rowWaits: RowWaits;
  /** Reads the stores and judges after each choice. */
  readonly isObserved?: boolean;
  /** A lane stops at every checkpoint. */
  readonly stopsEverywhere?: boolean;
  /** Hears the commands of each choice. */
  readonly wire?: Wire;
  /** The lane A is in this instance, counted from 0; the others in those behind it. */
  readonly firstInstance?: number;
  /** The choices that come at once, and the view that shows the play. */
  readonly planned?: string;
  readonly slot?: string;
  readonly request?: string;
  /** Called with the id of the play, before its first event. */
  readonly begins?: (id: string) => void;
}
