/**
 * Lanes, and what each of them did, as a pure function of the events so far: of a play whose
 * steps somebody chooses, and of a race whose steps are fixed.
 */
import { actOf, choicesIn } from '../../lab/play/letters.ts';
import type { BrokenPromise, PlayedLane, Reading, StageEvent } from '../../lab/stage/events.ts';
import { workerLane } from '../../lab/stage/lane-messages.ts';
import {
  answerLost,
  instanceAt,
  nameOfPlace,
  type Place,
  type ReachedPlace,
} from '../../lab/stage/place.ts';
import type { Attempt } from '../../service/audit/facts.ts';

export const msOf = ({ at }: Pick<StageEvent, 'at'>): number => Number(at) / 1_000_000;

/** For a lock, for one of a dead process, or for a row. */
export type Wait = 'lock' | 'dead' | 'row';

export interface LaneView extends PlayedLane {
  /** `lost`: the answer, so it may ask again. */
  readonly state: Place['is'] | 'running' | 'lost';
  readonly checkpoint?: string;
  /** The owner that it waits for, and whether for a lock or for a row. */
  readonly waitsFor?: string;
  readonly waitsOn?: Wait;
  readonly outcome?: string;
  readonly sinceMs: number;
}

/** What a lane did, or why it could not go. */
export interface Row {
  readonly lane: string;
  readonly kind: 'at' | 'waits' | 'answered' | 'dead' | 'free' | 'fault' | 'stuck';
  /**
   * A checkpoint; the reason of an answer, or `sold`; what it waits on; what a fault does; why the
   * order worker is free.
   */
  readonly word: string;
  readonly of?: string;
  readonly orderId?: string;
  readonly isWrong: boolean;
  readonly tookMs: number;
  /** Since the first event. */
  readonly atMs: number;
  /** The events that prove it. */
  readonly evidence: readonly StageEvent[];
  /** Of a race, and whether it is told in the words of its schedule. */
  readonly step?: Event<'step'>;
  readonly isTold?: boolean;
}

interface PlayedRows {
  readonly lanes: ReadonlyMap<string, LaneView>;
  readonly rows: readonly Row[];
}

export type Event<Kind extends StageEvent['kind']> = Extract<StageEvent, { readonly kind: Kind }>;
type Began<Kind extends 'play' | 'race'> = Omit<Event<Kind>, 'lanes'>;

export interface RaceView extends Began<'race'>, PlayedRows {
  readonly judged?: Event<'race-judged'>;
}

export interface ChoiceView {
  readonly choice: string;
  readonly lane: string;
  readonly isTaken: boolean;
}

export interface PlayView extends Began<'play'>, PlayedRows {
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
  /** The lanes that have had one lock at once. */
  readonly ownersAtOnce: readonly string[];
  /** The lanes whose next answer is lost. */
  readonly losing: ReadonlySet<string>;
  /** It can be played no more. */
  readonly ended?: 'left' | 'failed';
  /** Nothing moves until the next choice. */
  readonly isStill: boolean;
  /** Events since the last row of each lane: its evidence. */
  readonly passed: ReadonlyMap<string, readonly StageEvent[]>;
}

export const nameOfReading = ({ id, of }: Reading): string => `${id} ${of}`;

/** Without a user: the lane of the order worker, or of the servers. */
function lanesIn({ lanes, ...event }: Event<'play' | 'race'>): Map<string, LaneView> {
  const views = lanes.map((lane): [string, LaneView] => {
    const state = lane.name === workerLane && event.kind === 'play' ? 'free' : 'idle';
    return [lane.name, { userId: '', instance: '', ...lane, state, sinceMs: msOf(event) }];
  });
  return new Map(views);
}

export const raceKey = ({ race, rung }: { readonly race: string; readonly rung: string }): string =>
  `${race}-${rung}`;

export const raceViewOf = (event: Event<'race'>): RaceView => ({
  ...event,
  lanes: lanesIn(event),
  rows: [],
});

export function addToRace(race: RaceView, event: StageEvent): RaceView {
  if (event.kind === 'step') return stepped(race, event);
  return event.kind === 'race-judged' ? judgedAs(race, event) : race;
}

function stepped(race: RaceView, event: Event<'step'>): RaceView {
  const { lane, place } = event;
  const instance = instanceAt(place);
  const before = race.lanes.get(lane);
  const lanes = new Map(race.lanes);
  // A fault, or a step that missed, leaves its lane where it is.
  const state = place.is === 'done' || place.is === 'missed' ? before?.state : place.is;
  if (before && state)
    lanes.set(lane, { ...before, state, sinceMs: msOf(event), ...(instance && { instance }) });
  return { ...race, lanes, rows: [...race.rows, rowOf(event, msOf(event) - msOf(race))] };
}

const kinds = {
  at: 'at',
  waits: 'waits',
  answered: 'answered',
  dead: 'dead',
  paused: 'fault',
  done: 'fault',
  missed: 'stuck',
} as const satisfies Record<ReachedPlace['is'], Row['kind']>;

/** Until the race is judged, the words say only where the lane is. */
function rowOf(step: Event<'step'>, atMs: number): Row {
  const { lane, place } = step;
  const word = nameOfPlace(place);
  return {
    lane,
    kind: kinds[place.is],
    word,
    isWrong: false,
    tookMs: 0,
    atMs,
    evidence: [step],
    step,
    isTold: word === 'injected' || word === 'healed',
  };
}

/** Where the rung with the bug shows its bug, the words are those of the schedule: they tell it. */
function judgedAs(race: RaceView, judged: Event<'race-judged'>): RaceView {
  if (judged.verdict !== 'violated') return { ...race, judged };
  const rows = race.rows.map((row) => {
    const { isWrong = false, asPlanned = false } = row.step ?? {};
    return { ...row, isWrong, isTold: row.isTold || (race.isOfBug && asPlanned) };
  });
  return { ...race, rows, judged };
}

type OfPlay = Extract<StageEvent, { readonly player: string }>;
type OfLane = Extract<OfPlay, { readonly lane: string }>;

export const playViewOf = (event: Event<'play'>): PlayView => ({
  ...event,
  lanes: lanesIn(event),
  rows: [],
  choices: [],
  readings: [],
  readAtMs: 0,
  changed: new Set(),
  broken: [],
  unknown: [],
  isFinal: false,
  passed: new Map(),
  isStill: event.planned === '',
  losing: new Set(),
  ownersAtOnce: [],
});

export function addToPlay(play: PlayView, event: OfPlay): PlayView {
  switch (event.kind) {
    case 'choice':
      return chosen(play, event);
    case 'lane':
      return moved(play, event);
    case 'waits':
      return waiting(play, event);
    case 'lock':
      return withEvidence(play, event);
    case 'readings':
      return read(play, event);
    case 'judged': {
      const { broken, unknown, isFinal, ownersAtOnce = [] } = event;
      return { ...play, broken, unknown, isFinal, ownersAtOnce };
    }
    case 'ended':
      return { ...play, ended: event.because, isStill: false };
    case 'still':
      return {
        ...play,
        rows: event.isRenewed ? withRenewal(play.rows) : play.rows,
        isStill: play.choices.length >= (choicesIn(play.planned)?.length ?? 0),
      };
    default:
      return play;
  }
}

function chosen(play: PlayView, event: Event<'choice'>): PlayView {
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
  const row = withRow(next, event, { kind: isTaken ? 'fault' : 'stuck', word: does, of: to });
  return isTaken ? hit(row, event, does) : row;
}

function stuck(play: PlayView, event: Event<'choice'>): PlayView {
  const { state = 'no-worker', waitsFor } = play.lanes.get(event.lane) ?? {};
  return withRow(play, event, { kind: 'stuck', word: state, ...(waitsFor && { of: waitsFor }) });
}

/** Only now it is known what the time of a lease has brought. */
function withRenewal(rows: readonly Row[]): Row[] {
  const last = rows.findLastIndex(({ word }) => word === 'pass-time');
  return rows.map((row, index) => (index === last ? { ...row, word: 'renewed' } : row));
}

/** A lane whose process is paused stays where it is; afterwards it stands there again. */
function hit(play: PlayView, event: Event<'choice'>, does: string): PlayView {
  const { lane } = event;
  if (does === 'lose-answer') return { ...play, losing: new Set([...play.losing, lane]) };
  if (does === 'stop' && lane === workerLane) return withLane(play, event, { state: 'stopped' });
  const { checkpoint } = play.lanes.get(lane) ?? {};
  const at = checkpoint ? { checkpoint } : {};
  if (does === 'pause' || does === 'block')
    return withLane(play, event, { ...at, state: 'paused' });
  const isFree = lane === workerLane && !checkpoint;
  return does === 'resume' ? withLane(play, event, { ...at, state: isFree ? 'free' : 'at' }) : play;
}

function moved(play: PlayView, event: Event<'lane'>): PlayView {
  const known = play.lanes.get(event.lane);
  if (!known || (known.state === 'dead' && event.is !== 'free')) return play;
  if (event.is === 'running') return withLane(play, event, { state: 'running' });
  if (event.is === 'answered') return answered(play, event);
  if (event.is === 'free' || event.is === 'dead') {
    const word = event.is === 'free' ? event.because : 'killed';
    return withLane(withRow(play, event, { kind: event.is, word }), event, { state: event.is });
  }
  const { checkpoint } = event;
  if (!play.stops.includes(checkpoint)) return withEvidence(play, event);
  const row = withRow(play, event, { kind: 'at', word: checkpoint });
  return withLane(row, event, { state: 'at', checkpoint });
}

function answered(
  play: PlayView,
  event: Extract<Event<'lane'>, { readonly is: 'answered' }>,
): PlayView {
  const { lane, outcome, reason, orderId } = event;
  const row = withRow(play, event, {
    kind: 'answered',
    word: answerWord(play, event),
    ...(outcome === 'accepted' && { isWrong: isOneTooMany(play, lane) }),
    ...(orderId && { orderId }),
  });
  const losing = new Set([...play.losing].filter((each) => each !== lane));
  const state = reason === answerLost ? 'lost' : 'answered';
  return { ...withLane(row, event, { state, outcome }), losing };
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

function waiting(play: PlayView, event: Event<'waits'>): PlayView {
  const { for: owner, isForDead, on } = event;
  const word = isForDead ? 'dead' : on;
  const row = withRow(play, event, { kind: 'waits', word, ...(owner && { of: owner }) });
  const waits = { state: 'waits', waitsOn: word, ...(owner && { waitsFor: owner }) } as const;
  return withLane(row, event, waits);
}

function read(play: PlayView, event: Event<'readings'>): PlayView {
  const before = new Map(play.readings.map((each) => [nameOfReading(each), each]));
  const isNew = (each: Reading) => {
    const old = before.get(nameOfReading(each));
    return old !== undefined && (old.value !== each.value || old.lane !== each.lane);
  };
  const names = event.readings.filter(isNew).map(nameOfReading);
  return {
    ...play,
    readings: event.readings,
    readAtMs: msOf(event),
    changed: new Set(names),
  };
}

function withEvidence(play: PlayView, event: OfLane): PlayView {
  const events = [...(play.passed.get(event.lane) ?? []), event];
  return { ...play, passed: new Map(play.passed).set(event.lane, events) };
}

function withRow(
  play: PlayView,
  event: OfLane,
  row: Pick<Row, 'kind' | 'word'> & Partial<Pick<Row, 'of' | 'orderId' | 'isWrong'>>,
): PlayView {
  const { lane } = event;
  const nowMs = msOf(event);
  const { sinceMs = nowMs, state } = play.lanes.get(lane) ?? {};
  const tookMs = state === 'free' ? 0 : Math.max(0, nowMs - sinceMs); // It did nothing until then.
  const next: Row = {
    isWrong: false,
    ...row,
    lane,
    atMs: nowMs - msOf(play),
    tookMs,
    evidence: [...(play.passed.get(lane) ?? []), event],
  };
  return { ...play, rows: [...play.rows, next], passed: new Map(play.passed).set(lane, []) };
}

function withLane(
  play: PlayView,
  event: OfLane,
  more: Pick<LaneView, 'state'> & Partial<LaneView>,
): PlayView {
  const lane = play.lanes.get(event.lane);
  if (!lane) return play;
  const { name, userId, instance } = lane;
  const next = { name, userId, instance, sinceMs: msOf(event), ...more };
  return { ...play, lanes: new Map(play.lanes).set(name, next) };
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
