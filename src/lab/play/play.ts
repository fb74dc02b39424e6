/**
 * Lanes that somebody moves: each choice runs one lane to its next stop. A choice is over when
 * nothing moves any more: every lane stands, is answered, or waits for another one.
 */

import { audit } from '../../service/audit/audit.ts';
import { collectFacts } from '../../service/audit/collect.ts';
import type { Attempt, Facts } from '../../service/audit/facts.ts';
import { evidenceOf } from '../../service/audit/finding.ts';
import type { CheckName } from '../../service/domain.ts';
import type { Rung } from '../../service/ladder/rung.ts';
import { type RungName, rungNamed } from '../../service/ladder/rungs.ts';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import type { HistoryEvent } from '../../service/trace/history.ts';
import { recordedEvidence } from '../../texts/evidence.ts';
import { labError } from '../errors.ts';
import type { JudgedPromises, PlayEvent, PlayedLane } from '../stage/events.ts';
import { workerLane } from '../stage/lane-messages.ts';
import { answerLost, canMove, isEnd, isSameWait, type Place } from '../stage/place.ts';
import type { Player } from '../stage/player.ts';
import type { Stage } from '../stage/stage.ts';
import { ownQueueEmpty } from '../workload/drained.ts';
import { isOfLock } from './lane-locks.ts';
import { Lanes } from './lanes.ts';
import { type Act, actOf } from './letters.ts';
import { PlayFaults } from './play-faults.ts';
import { PlayWorker } from './play-worker.ts';
import { isAboutData } from './race-verdict.ts';
import { readingsOf } from './readings.ts';
import type { RowWaits } from './row-waits.ts';
import { everyStopOf, hasWorker, playedLanes, stockOf, stopsOf } from './set-up.ts';
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
  /** The lanes whose next answer is lost. */
  readonly #losing = new Set<string>();
  #isObserved: boolean;
  #hasStopped = false;
  #places: ReadonlyMap<string, Place> = new Map();
  #steps = 0;

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
      ...{ stage, player: this.#player, rung: this.#rung, faults: this.#faults, ownerlessMs },
      ...{ names: buyers.map(({ name }) => name), rowWaits: setUp.rowWaits },
      isStop: (_, checkpoint) => this.#stops().includes(checkpoint),
      hears: (lane, event) => this.#tellLock(lane, event),
      seemStill: () => this.#tellWaits(this.#placesNow()), // At once.
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
      ...{ kind: 'play', rung, voucherId, stock, lanes, stops: play.#stops() },
      ...{ planned, slot, request, stopsEverywhere },
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
    const headers = player.headers(name);
    const losesAnswer = () => this.#losing.delete(name);
    const sending = { baseUrl, headers, losesAnswer, waitsLong: true };
    player.add(name, () => this.#stage.buy(purchase, sending));
  }

  /** Whether this choice is about a lane of this play, or about a server. */
  knows(choice: string): boolean {
    const { does, to } = actOf(choice);
    return ((does === 'stop' || does === 'start') && to !== workerLane) || this.lanes.includes(to);
  }

  get isPaused(): boolean {
    return this.lanes.some((lane) => this.#faults.isPaused(lane));
  }

  get hasWorker(): boolean {
    return this.#moves.worker !== undefined;
  }

  /** The order worker consumes nothing until somebody moves it, or starts it. */
  get holdsWorker(): boolean {
    return this.#moves.worker !== undefined && this.#moves.worker.place.is !== 'free';
  }

  #tell(event: PlayEvent): void {
    this.#stage.emit({ ...event, player: this.id });
  }

  /** The lanes that a choice would move. */
  canGo(): string[] {
    return this.lanes.filter((lane) => canMove(this.#moves.place(lane)));
  }

  /** @throws DEADLINE_PASSED when a lane moves and does not arrive. */
  async choose(choice: string): Promise<Choice> {
    const startedAt = performance.now();
    const act = actOf(choice);
    const lane = this.lanes.includes(act.to) ? act.to : '';
    const isTaken = await this.#canDo(act);
    this.#steps += 1;
    const step = this.#steps;
    this.#tell({ kind: 'choice', step, choice, lane, isTaken });
    const { wire } = this.#setUp;
    await wire?.skip();
    if (isTaken) {
      await this.#do(act);
      await this.#moves.untilStill(stillWithinMs);
    }
    const commands = await wire?.take();
    const places = this.#placesNow();
    this.#tellWaits(places);
    await this.#observe(this.isOver());
    this.#tell({ kind: 'still', step, tookMs: performance.now() - startedAt });
    return { choice, lane, taken: isTaken, places, ...(commands && { commands }) };
  }

  async #canDo({ does, to }: Act): Promise<boolean> {
    if (to === workerLane) return this.#canWorkerDo(does);
    if (does === 'stop') return this.#faults.canStop(to);
    if (does === 'start') return this.#faults.canStart(to);
    if (does === 'move') return this.canGo().includes(to);
    if (does === 'kill') return this.#moves.place(to).is === 'at';
    if (does === 'pause') return this.#moves.place(to).is === 'at' && !this.#standsWithWorker(to);
    if (does === 'resume') return this.#faults.isPaused(to);
    if (does === 'lose-answer') return this.canGo().includes(to) && !this.#losing.has(to);
    const lane = this.#laneNamed(to);
    const isOwner = this.#moves.locks.isNewestOwner(to);
    return lane !== undefined && isOwner && this.#faults.canEndLease(this.voucherId, lane);
  }

  #canWorkerDo(does: Act['does']): boolean {
    const { canDie = false, canStop = false, canStart = false } = this.#moves.worker ?? {};
    if (does === 'stop') return canStop;
    if (does === 'move') return this.canGo().includes(workerLane);
    return (does === 'kill' ? canDie : canStart) && !this.isPaused; // The next one is looked for.
  }

  async #do({ does, to }: Act): Promise<void> {
    if (to === workerLane) return this.#doToWorker(does);
    this.#hasStopped ||= does === 'stop';
    if (does === 'stop') return this.#faults.stop(to);
    if (does === 'start') return this.#faults.start(to);
    if (does === 'move') return this.#move(to);
    if (does === 'lose-answer') return void this.#losing.add(to);
    if (does === 'resume') return this.#faults.resume(to);
    if (does === 'kill' || does === 'pause') return this.#hit(does, to);
    const lane = this.#laneNamed(to);
    if (!lane) return;
    await this.#faults.endLease(this.voucherId, lane, this.#player.requestId(to));
    this.#moves.locks.leaseEnded(to); // Dead and releasing processes write no event.
  }

  async #move(lane: string): Promise<void> {
    if (this.#player.state(lane)?.kind === 'answered') this.#player.again(lane);
    else await this.#player.resume(lane);
  }

  async #doToWorker(does: Act['does']): Promise<void> {
    const worker = this.#moves.worker;
    if (does === 'move') return this.#player.resume(workerLane);
    if (does === 'stop') return worker?.stop();
    if (does === 'start') return worker?.start();
    // Where the queue is in an instance, its requests die too.
    for (const { name, instance } of this.#played) {
      if (instance !== worker?.process || name === workerLane || !this.#moves.isStanding(name))
        continue;
      this.#tellDeath(name);
      this.#faults.died(name);
    }
    await worker?.kill();
  }

  /** The queue is in its instance, and the order worker stands there. */
  #standsWithWorker(lane: string): boolean {
    return this.holdsWorker && this.#moves.worker?.process === this.#laneNamed(lane)?.instance;
  }

  #laneNamed(name: string): PlayedLane | undefined {
    return this.#played.find((lane) => lane.name === name);
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
        ...{ kind: 'waits', lane, on: place.on, isForDead: place.isForDead ?? false },
        ...(place.for !== undefined && { for: place.for }),
      });
    }
    this.#places = places;
  }

  /** Before the end, only what no later step can make right. */
  async #observe(isFinal: boolean): Promise<void> {
    if (!this.#isObserved) return;
    const { connections } = this.#stage;
    const facts = await this.facts(isFinal);
    const asked = { rung: this.#rung, facts, lanes: this.#played, locks: this.#moves.locks };
    this.#tell({ kind: 'readings', readings: await readingsOf(connections, asked) });
    this.#tell({ kind: 'judged', ...judgedPromises(facts, isFinal) });
  }

  /** @param isFinal once the queue of the rung is empty; the order worker of a play has said so. */
  async facts(isFinal: boolean): Promise<Facts> {
    const { voucherId } = this;
    const { connections, tries } = this.#stage;
    if (isFinal && this.#rung.queue && !this.#moves.worker)
      await ownQueueEmpty(connections, voucherId);
    const collected = await collectFacts(connections, voucherId);
    if (!collected) throw labError('UNKNOWN_VOUCHER', voucherId);
    return { ...collected, attempts: tries.filter((each) => each.voucherId === voucherId) };
  }

  async #hit(does: 'kill' | 'pause', lane: string): Promise<void> {
    const state = this.#player.state(lane);
    if (state?.kind !== 'paused') return;
    const { pid } = state.arrival;
    if (does === 'pause')
      return void (await this.#faults.pause(lane, pid, `the process of ${lane}`));
    if (this.#standsWithWorker(lane)) return this.#doToWorker('kill');
    await this.#killProcess(lane, pid, `the process of ${lane}`);
    this.#moves.locks.died(lane);
  }

  async #killProcess(lane: string, pid: number, name: string): Promise<void> {
    this.#tellDeath(lane);
    await this.#faults.kill(lane, pid, name);
  }

  /** Before its client sees that no answer comes. */
  #tellDeath(lane: string): void {
    this.#stage.emit({ kind: 'lane', player: this.id, lane, is: 'dead' });
  }

  #placesNow(): ReadonlyMap<string, Place> {
    return new Map(this.lanes.map((each) => [each, this.#moves.place(each)]));
  }

  /** Whether a purchase ended so because of a choice: with its process, or without a lock. */
  explains({ requestId, reason }: Pick<Attempt, 'requestId' | 'reason'>): boolean {
    if (this.#hasStopped && reason === 'lock-service-unavailable') return true;
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
    if (this.#moves.worker?.canStart) await this.choose(`H${workerLane}`);
    const isOpen = (lane: string) => ['at', 'waits'].includes(this.#moves.place(lane).is);
    const isAt = (lane: string) => this.#moves.place(lane).is === 'at';
    const open = this.lanes.filter(isOpen);
    for (let next = this.lanes.find(isAt); next !== undefined; next = this.lanes.find(isAt))
      await this.choose(next);
    const places = this.#placesNow();
    for (const lane of this.lanes.filter(isOpen))
      await this.#killProcess(lane, this.#pidOf(lane), `the process of ${lane}, to end its wait`);
    await this.#faults.mend();
    await this.#player.freeWorker(); // A second copy of an order may have come.
    await this.#player.finish(stillWithinMs);
    await this.#observe(true);
    return open.length > 0 ? { choice: '(rest)', lane: '', taken: true, places } : null;
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

  #pidOf(lane: string): number {
    const { instance = '' } = this.#laneNamed(lane) ?? {};
    return this.#stage.lab.pidOf(instance);
  }

  #tellLock(lane: string, event: HistoryEvent): void {
    if (!this.#rung.lock || !isOfLock(event)) return;
    const { event: what, resource, instance, fence } = event;
    this.#tell({
      ...{ kind: 'lock', lane, event: what, instance },
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

/** What no later step of a play makes right again. */
const lasting: readonly CheckName[] = ['one-order-per-user', 'no-oversell'];

/** @param isFinal no purchase is under way any more: no check about data is left out */
function judgedPromises(facts: Facts, isFinal: boolean): JudgedPromises {
  const isAsked = (check: CheckName) => (isFinal ? isAboutData(check) : lasting.includes(check));
  const findings = audit(facts).findings.filter(({ check }) => isAsked(check));
  const broken = findings.filter(({ verdict }) => verdict === 'violated');
  const unknown = findings.filter(({ verdict }) => verdict === 'unknown');
  return {
    isFinal,
    broken: broken.map((finding) => ({
      check: finding.check,
      orders: finding.orders ?? [],
      ...recordedEvidence(evidenceOf(finding)),
    })),
    unknown: isFinal ? unknown.map(({ check }) => check) : [],
  };
}
