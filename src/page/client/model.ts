/**
 * The page as a pure function of the events so far. Live, replay, step back and an exported file
 * are this fold with another cursor.
 */

import { actOf, choicesIn } from '../../lab/play/letters.ts';
import { ordersIn } from '../../lab/play/outcomes.ts';
import type { BrokenPromise, Reading, StageEvent } from '../../lab/stage/events.ts';
import { workerLane } from '../../lab/stage/lane-messages.ts';
import { answerLost } from '../../lab/stage/place.ts';
import type { Attempt } from '../../service/audit/facts.ts';
import { type LaneView, msOf, type Row } from './lane-rows.ts';
import { addToRaces, type Races } from './race-model.ts';
import { addToRun, type RunView } from './run-model.ts';

export interface ChoiceView {
  readonly choice: string;
  readonly lane: string;
  readonly isTaken: boolean;
}

export interface PlayView {
  readonly id: string;
  readonly rung: string;
  readonly voucherId: string;
  readonly stock: number;
  readonly stops: readonly string[];
  readonly planned: string;
  readonly beganAt: number;
  readonly lanes: ReadonlyMap<string, LaneView>;
  readonly rows: readonly Row[];
  readonly choices: readonly ChoiceView[];
  readonly readings: readonly Reading[];
  /** When the readings were made: their time to live runs down from there. */
  readonly readAtMs: number;
  /** The names of the readings that the last choice changed. */
  readonly changed: ReadonlySet<string>;
  readonly broken: readonly BrokenPromise[];
  /** The checks that could not tell. */
  readonly unknown: readonly string[];
  readonly isFinal: boolean;
  readonly request: string;
  readonly stopsEverywhere: boolean;
  /** The lanes whose next answer is lost. */
  readonly losing: ReadonlySet<string>;
  /** It can be played no more. */
  readonly ended?: 'left' | 'failed';
  /** Nothing moves until the next choice. */
  readonly isStill: boolean;
  readonly tookMs: number;
  /** Events since the last row of each lane: its evidence. */
  readonly passed: ReadonlyMap<string, readonly StageEvent[]>;
}

export interface World {
  readonly plays: ReadonlyMap<string, PlayView>;
  /** View → the play that it shows. */
  readonly slots: ReadonlyMap<string, string>;
  readonly races: Races;
  /** The experiment that began last. */
  readonly run: RunView | undefined;
}

export const emptyWorld: World = {
  ...{ plays: new Map(), slots: new Map(), races: new Map(), run: undefined },
};

export const nameOfReading = ({ id, of }: Reading): string => `${id} ${of}`;

export function add(world: World, event: StageEvent): World {
  if (event.kind === 'play') {
    const slots = new Map(world.slots).set(event.slot, event.player);
    return { ...world, slots, plays: new Map(world.plays).set(event.player, begun(event)) };
  }
  if (!('player' in event))
    return {
      ...world,
      races: addToRaces(world.races, event),
      run: addToRun(world.run, event),
    };
  const play = world.plays.get(event.player);
  if (!play) return world;
  const plays = new Map(world.plays).set(event.player, changed(play, event));
  return { ...world, plays };
}

export const fold = (events: readonly StageEvent[], from: World = emptyWorld): World =>
  events.reduce(add, from);

type OfPlay = Extract<StageEvent, { readonly player: string }>;
type Of<Kind extends OfPlay['kind']> = Extract<OfPlay, { readonly kind: Kind }>;

function begun(event: Of<'play'>): PlayView {
  const { player: id, rung, voucherId, stock, stops, planned, request, stopsEverywhere } = event;
  const lanes = event.lanes.map((lane): [string, LaneView] => [
    lane.name,
    { ...lane, state: lane.name === workerLane ? 'free' : 'idle', since: 0 },
  ]);
  return {
    ...{
      id,
      rung,
      voucherId,
      stock,
      stops,
      planned,
      request,
      stopsEverywhere,
      beganAt: msOf(event),
    },
    ...{ lanes: new Map(lanes), rows: [], choices: [], readings: [], readAtMs: 0 },
    ...{ changed: new Set(), broken: [], unknown: [], isFinal: false, passed: new Map() },
    ...{ isStill: planned === '', tookMs: 0, losing: new Set() },
  };
}

function changed(play: PlayView, event: OfPlay): PlayView {
  switch (event.kind) {
    case 'choice':
      return chosen(play, event);
    case 'lane':
      return moved(play, event);
    case 'waits':
      return waiting(play, event);
    case 'lock':
      return withEvidence(play, event.lane, event);
    case 'readings':
      return read(play, event);
    case 'judged':
      return { ...play, broken: event.broken, unknown: event.unknown, isFinal: event.isFinal };
    case 'ended':
      return { ...play, ended: event.because, isStill: false };
    case 'still':
      return {
        ...play,
        isStill: play.choices.length >= (choicesIn(play.planned)?.length ?? 0),
        tookMs: event.tookMs,
      };
    default:
      return play;
  }
}

function chosen(play: PlayView, event: Of<'choice'>): PlayView {
  const { choice, lane, isTaken } = event;
  const next = {
    ...play,
    choices: [...play.choices, { choice, lane, isTaken }],
    isStill: false,
  };
  const { does, to } = actOf(choice);
  if (isTaken && (does === 'move' || does === 'kill')) return next;
  if (does === 'move' || (does === 'kill' && to !== workerLane)) return stuck(next, event);
  if (isTaken && choice === `H${workerLane}`) return next; // It says itself that it is free.
  const row = withRow(next, event, lane, {
    ...{ kind: isTaken ? 'fault' : 'stuck', word: does, of: to },
  });
  return isTaken ? hit(row, does, lane, msOf(event) - play.beganAt) : row;
}

function stuck(play: PlayView, event: Of<'choice'>): PlayView {
  const { state = 'no-worker', waitsFor } = play.lanes.get(event.lane) ?? {};
  return withRow(play, event, event.lane, {
    ...{ kind: 'stuck', word: state },
    ...(waitsFor && { of: waitsFor }),
  });
}

/** A lane whose process is paused stays where it is; afterwards it stands there again. */
function hit(play: PlayView, does: string, lane: string, since: number): PlayView {
  if (does === 'lose-answer') return { ...play, losing: new Set([...play.losing, lane]) };
  if (does === 'stop' && lane === workerLane)
    return withLane(play, lane, { since, state: 'stopped' });
  const { checkpoint } = play.lanes.get(lane) ?? {};
  const at = { since, ...(checkpoint && { checkpoint }) };
  if (does === 'pause') return withLane(play, lane, { ...at, state: 'paused' });
  return does === 'resume' ? withLane(play, lane, { ...at, state: 'at' }) : play;
}

function moved(play: PlayView, event: Of<'lane'>): PlayView {
  const { lane } = event;
  const known = play.lanes.get(lane);
  if (!known || (known.state === 'dead' && event.is !== 'free')) return play;
  const since = msOf(event) - play.beganAt;
  if (event.is === 'free') {
    const row = withRow(play, event, lane, { kind: 'free', word: event.because });
    return withLane(row, lane, { state: 'free', since });
  }
  if (event.is === 'running') return withLane(play, lane, { state: 'running', since });
  if (event.is === 'answered') return answered(play, event, since);
  if (event.is === 'dead')
    return withLane(withRow(play, event, lane, { kind: 'dead', word: 'killed' }), lane, {
      state: 'dead',
      since,
    });
  const { checkpoint } = event;
  if (!play.stops.includes(checkpoint)) return withEvidence(play, lane, event);
  const row = withRow(play, event, lane, { kind: 'at', word: checkpoint });
  return withLane(row, lane, { state: 'at', checkpoint, since });
}

function answered(
  play: PlayView,
  event: Extract<Of<'lane'>, { readonly is: 'answered' }>,
  since: number,
): PlayView {
  const { lane, outcome, reason, orderId } = event;
  const row = withRow(play, event, lane, {
    ...{ kind: 'answered', word: answerWord(play, event) },
    ...(outcome === 'accepted' && { isWrong: isOneTooMany(play, lane) }),
    ...(orderId && { orderId }),
  });
  const losing = new Set([...play.losing].filter((each) => each !== lane));
  const state = reason === answerLost ? 'lost' : 'answered';
  return { ...withLane(row, lane, { state, outcome, since }), losing };
}

/** Behind a queue an accepted order is not recorded yet. */
function answerWord({ lanes }: PlayView, { outcome, reason }: Pick<Attempt, 'outcome' | 'reason'>) {
  if (outcome === 'accepted') return lanes.has(workerLane) ? 'accepted' : 'sold';
  if (outcome === 'unknown' && reason !== answerLost) return 'no-answer';
  return reason ?? outcome;
}

/** Its user, or somebody else, has bought what it buys. */
function isOneTooMany(play: PlayView, name: string): boolean {
  const buyers = [...play.lanes.values()].filter(({ outcome }) => outcome === 'accepted');
  const { userId } = play.lanes.get(name) ?? {};
  return buyers.length >= play.stock || buyers.some((buyer) => buyer.userId === userId);
}

function waiting(play: PlayView, event: Of<'waits'>): PlayView {
  const { lane, on } = event;
  const of = event.for ? { of: event.for } : {};
  const word = event.isForDead ? 'dead' : on;
  const row = withRow(play, event, lane, { kind: 'waits', word, ...of });
  return withLane(row, lane, {
    ...{ state: 'waits', waitsOn: word, since: msOf(event) - play.beganAt },
    ...(event.for && { waitsFor: event.for }),
  });
}

function read(play: PlayView, event: Of<'readings'>): PlayView {
  const before = new Map(play.readings.map((each) => [nameOfReading(each), each]));
  const isNew = (each: Reading) => {
    const old = before.get(nameOfReading(each));
    return old !== undefined && (old.value !== each.value || old.lane !== each.lane);
  };
  const names = event.readings.filter(isNew).map(nameOfReading);
  return {
    ...play,
    readings: event.readings,
    readAtMs: msOf(event) - play.beganAt,
    changed: new Set(names),
  };
}

function withEvidence(play: PlayView, lane: string, event: StageEvent): PlayView {
  const events = [...(play.passed.get(lane) ?? []), event];
  return { ...play, passed: new Map(play.passed).set(lane, events) };
}

function withRow(
  play: PlayView,
  event: OfPlay,
  lane: string,
  row: Pick<Row, 'kind' | 'word'> & Partial<Pick<Row, 'of' | 'orderId' | 'isWrong'>>,
): PlayView {
  const atMs = msOf(event) - play.beganAt;
  const { since = atMs, state } = play.lanes.get(lane) ?? {};
  const tookMs = state === 'free' ? 0 : Math.max(0, atMs - since); // It did nothing until then.
  const next: Row = {
    ...{ isWrong: false, ...row, lane, atMs, tookMs },
    step: play.choices.length,
    evidence: [...(play.passed.get(lane) ?? []), event],
  };
  return { ...play, rows: [...play.rows, next], passed: new Map(play.passed).set(lane, []) };
}

function withLane(
  play: PlayView,
  name: string,
  more: Pick<LaneView, 'state' | 'since'> & Partial<LaneView>,
): PlayView {
  const lane = play.lanes.get(name);
  if (!lane) return play;
  const { userId, instance } = lane;
  return { ...play, lanes: new Map(play.lanes).set(name, { name, userId, instance, ...more }) };
}

export const lettersOf = ({ choices }: PlayView): string =>
  choices.map(({ choice }) => choice).join('');

export const buyersIn = ({ lanes }: PlayView): LaneView[] =>
  [...lanes.values()].filter(({ name }) => name !== workerLane);

/** Every buyer is answered or dead, and no order is in hand. */
export const isDone = ({ lanes }: PlayView): boolean =>
  [...lanes.values()].every(({ state }) => ['answered', 'dead', 'free'].includes(state));

const movable: readonly LaneView['state'][] = ['idle', 'at', 'paused', 'lost', 'stopped'];

/** Every lane is answered, dead, or waits for one that is. */
export function isOver({ lanes, isStill }: PlayView): boolean {
  const all = [...lanes.values()];
  return isStill && all.every(({ state }) => !movable.includes(state));
}

export const soldIn = ({ readings }: PlayView): number => ordersIn(readings);

/** The first row at which two plays of the same choices differ. */
export function firstDifference(one: PlayView, other: PlayView): number | undefined {
  const length = Math.max(one.rows.length, other.rows.length);
  for (let index = 0; index < length; index++) {
    const [left, right] = [one.rows[index], other.rows[index]];
    if (left?.lane !== right?.lane || left?.kind !== right?.kind) return index;
    if (left?.word !== right?.word) return index;
  }
  return undefined;
}
