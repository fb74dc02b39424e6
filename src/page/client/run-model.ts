/**
 * An experiment that runs in the lab, or has run, as a pure function of its events: the view, its
 * seconds as columns and bars for the charts, and what can be done to its servers.
 */

import type { HandVerb } from '../../lab/by-hand/asked-faults.ts';
import { type FaultWords, faultWords } from '../../lab/report/fault-words.ts';
import type {
  LockOnServers,
  PartState,
  SaleCounts,
  ScoredCell,
  StageEvent,
} from '../../lab/stage/events.ts';
import {
  type Mark,
  refusedIn,
  type Second,
  spansOf,
  type TimelineRecord,
} from '../../lab/stage/seconds.ts';
import type { Verdict } from '../../service/domain.ts';
import { type Event, msOf, type RaceView } from './play-model.ts';

/** What is told as a sentence. */
const toldKinds = [
  'service',
  'on-sale',
  'load-started',
  'load-ended',
  'fault',
  'healed',
  'note',
] as const;
export type ToldEvent = Event<(typeof toldKinds)[number]>;
const isTold = (event: StageEvent): event is ToldEvent =>
  toldKinds.some((kind) => kind === event.kind);

/** The locks of the servers now, and the longest lease that was seen. */
export interface LocksView {
  /** The servers that do not answer. */
  readonly unread: readonly string[];
  readonly locks: readonly LockOnServers[];
  readonly p99Ms: number | null;
  /** 0: no lock has had a lease. */
  readonly leaseMs: number;
  /** How often the lease of a lock that is there now was renewed, by its resource and owner. */
  readonly renewed: ReadonlyMap<string, number>;
}

/** A lock that is kept longer than this share of its lease may outlast it, unless it is renewed. */
const unsafeShare = 0.8;
export const mayOutlastLease = ({ p99Ms, leaseMs, renewed }: LocksView): boolean =>
  leaseMs > 0 &&
  p99Ms !== null &&
  p99Ms > leaseMs * unsafeShare &&
  [...renewed.values()].every((times) => times === 0);

export const lockId = ({ resource, owner }: LockOnServers): string => `${resource} ${owner}`;
/** Less is the jitter of a look. */
const renewedByMs = 200;

function addLocks(before: LocksView | undefined, event: Event<'locks'>): LocksView {
  const { unread, locks, p99Ms } = event;
  const left = (lock: LockOnServers) => Math.max(0, ...Object.values(lock.leftOn).map(Number));
  const known = new Map(before?.locks.map((lock) => [lockId(lock), left(lock)]));
  const renewed = new Map<string, number>();
  for (const lock of locks) {
    const isRenewed =
      left(lock) > (known.get(lockId(lock)) ?? Number.POSITIVE_INFINITY) + renewedByMs;
    const times = (before?.renewed.get(lockId(lock)) ?? 0) + (isRenewed ? 1 : 0);
    renewed.set(lockId(lock), times);
  }
  const leaseMs = Math.max(before?.leaseMs ?? 0, ...locks.map(left));
  return { unread, locks, p99Ms, leaseMs, renewed };
}

export interface RunView extends Event<'started'> {
  readonly told: readonly ToldEvent[];
  /** Each that is over. */
  readonly seconds: readonly Event<'second'>[];
  /** The servers of the sale; none where nobody breaks them by hand. */
  readonly parts: readonly PartState[];
  /** By the rung. */
  readonly counts: Readonly<Record<string, SaleCounts>>;
  /** By the rung. */
  readonly locks: Readonly<Record<string, LocksView>>;
  /** Of a scoreboard. */
  readonly cells: readonly ScoredCell[];
  readonly verdict?: Event<'verdict'>;
  readonly over?: Event<'over'>;
}

export function addToRun(run: RunView | undefined, event: StageEvent): RunView | undefined {
  if (event.kind === 'started')
    return {
      ...event,
      told: [],
      seconds: [],
      parts: [],
      counts: {},
      locks: {},
      cells: [],
    };
  if (!run) return run;
  if (isTold(event)) return { ...run, told: [...run.told, event] };
  if (event.kind === 'second') return { ...run, seconds: [...run.seconds, event] };
  if (event.kind === 'servers') return { ...run, parts: event.parts };
  if (event.kind === 'locks')
    return {
      ...run,
      locks: { ...run.locks, [event.rung]: addLocks(run.locks[event.rung], event) },
    };
  if (event.kind === 'counts') return { ...run, counts: { ...run.counts, [event.rung]: event } };
  if (event.kind === 'cell') return { ...run, cells: [...run.cells, event.cell] };
  if (event.kind === 'verdict') return { ...run, verdict: event };
  return event.kind === 'over' ? { ...run, over: event } : run;
}

/** A drill holds when what breaks is what the ladder claims: a promise broke all the same. */
export const seenVerdict = ({
  verdict,
  asClaimed = [],
}: Pick<Event<'verdict'>, 'verdict' | 'asClaimed'>): Verdict =>
  verdict === 'held' && asClaimed.length > 0 ? 'violated' : verdict;

/** The zero of its clock: when its load began; without a load, when it began itself. */
export const zeroOf = (run: RunView): number => loadBeganMs(run) ?? msOf(run);

const loadBeganMs = ({ seconds: [first] }: RunView): number | undefined =>
  first && Number(first.beganAt) / 1_000_000;

/** The start or the end of a load or of a fault. */
export const markIn = ({
  kind,
  name,
}: Event<'load-started' | 'load-ended' | 'fault' | 'healed'>): Omit<Mark, 'atMs'> => ({
  of: kind === 'fault' || kind === 'healed' ? 'fault' : 'load',
  isStart: kind === 'fault' || kind === 'load-started',
  name,
});

export function marksOf(run: RunView): Mark[] {
  const marked = run.told.filter((event) => 'name' in event);
  const first = marked.find((event) => markIn(event).isStart);
  const zero = loadBeganMs(run) ?? (first ? msOf(first) : 0);
  return marked.map((event) => ({
    atMs: Math.max(0, Math.round(msOf(event) - zero)),
    ...markIn(event),
  }));
}

/** The faults that nobody has ended, in order. */
export function brokenNames({ told }: RunView): string[] {
  const open = new Map<number, string>();
  for (const event of told) {
    if (event.kind === 'fault') open.set(event.id, event.name);
    if (event.kind === 'healed') open.delete(event.id);
  }
  return [...open.values()];
}

/** To which one jumps: a fault, its end, a step of a race, a violation. */
export interface Moment {
  readonly kind: 'fault' | 'healed' | 'step' | 'wrong';
  readonly atMs: number;
}

/** @param races those that the run has played */
export function momentsOf(
  { told, verdict }: Pick<RunView, 'told' | 'verdict'>,
  races: readonly RaceView[],
): Moment[] {
  const faults = told.flatMap((event): Moment[] =>
    event.kind === 'fault' || event.kind === 'healed'
      ? [{ kind: event.kind, atMs: msOf(event) }]
      : [],
  );
  const steps = races.flatMap((race) =>
    race.rows.flatMap(({ step, isWrong }): Moment[] =>
      step ? [{ kind: isWrong ? 'wrong' : 'step', atMs: msOf(step) }] : [],
    ),
  );
  const judged: Moment[] =
    verdict && seenVerdict(verdict) === 'violated' ? [{ kind: 'wrong', atMs: msOf(verdict) }] : [];
  return [...faults, ...steps, ...judged].sort((one, other) => one.atMs - other.atMs);
}

export type Column = readonly (number | null)[];

/** Each column has one value for each second; null when there was no load, or no answer. */
export interface Series {
  readonly seconds: readonly number[];
  readonly accepted: Column;
  readonly refused: Column;
  readonly unknown: Column;
  readonly p99Ms: Column;
  /** Of loads that ran at once. */
  readonly byLoad: readonly LoadSeries[];
  readonly byInstance: readonly { readonly name: string; readonly sold: Column }[];
  readonly bars: readonly Bar[];
}

export interface LoadSeries {
  readonly name: string;
  readonly accepted: Column;
  readonly p99Ms: Column;
}

/** A load, or a server that did not answer. */
export interface Bar {
  readonly row: string;
  readonly state: 'load' | FaultWords['state'];
  readonly text: string;
  readonly fromSecond: number;
  readonly toSecond: number;
}

export function runSeries({ seconds, marks }: Pick<TimelineRecord, 'seconds' | 'marks'>): Series {
  const column = (value: (second: Second) => number | null): Column =>
    seconds.map((second) => (second.isLoaded ? value(second) : null));
  return {
    seconds: seconds.map(({ second }) => second),
    accepted: column(({ accepted }) => accepted),
    refused: column(refusedIn),
    unknown: column(({ unknown }) => unknown),
    p99Ms: column(({ p99Ms }) => p99Ms),
    byLoad: namesOfLoads(seconds).map((name) => ({
      name,
      accepted: column(({ byLoad }) => byLoad?.[name]?.accepted ?? null),
      p99Ms: column(({ byLoad }) => byLoad?.[name]?.p99Ms ?? null),
    })),
    byInstance: namesIn(seconds, ({ byInstance }) => byInstance)
      .sort()
      .map((name) => ({ name, sold: column(({ byInstance }) => byInstance[name] ?? 0) })),
    bars: barsOf(marks, seconds),
  };
}

/** A load that follows another one begins in its last second: they are not beside each other. */
function namesOfLoads(seconds: readonly Second[]): string[] {
  const loaded = seconds.filter(({ isLoaded }) => isLoaded).length;
  const together = seconds.filter(({ byLoad }) => byLoad !== undefined).length;
  return together * 2 >= loaded && together > 0
    ? namesIn(seconds, ({ byLoad = {} }) => byLoad)
    : [];
}

const namesIn = (seconds: readonly Second[], counts: (second: Second) => object): string[] => [
  ...new Set(seconds.flatMap((second) => Object.keys(counts(second)))),
];

/** `slow redis-3 by 2000 ms` is in the row of redis-3. */
const serverIn = (row: string): string =>
  /\b(redis-[\w-]+|api-[\w-]+|zookeeper|rabbitmq|nginx|mariadb|mysql|database)\b/.exec(row)?.[0] ??
  row;

/** The loads first; then the servers, in the order of their first fault. */
function barsOf(marks: readonly Mark[], seconds: readonly Second[]): Bar[] {
  const endMs = seconds.length * 1_000;
  const atOnce = namesOfLoads(seconds);
  const loads = spansOf(marks, 'load', endMs).map(({ name, fromMs, toMs }) => ({
    row: atOnce.includes(name) ? name : 'load',
    state: 'load' as const,
    text: name,
    fromSecond: fromMs / 1_000,
    toSecond: toMs / 1_000,
  }));
  const faults = spansOf(marks, 'fault', endMs).map(({ name, fromMs, toMs }) => {
    const { row, state } = faultWords(name);
    const text = state === 'other' ? name : state;
    return { row: serverIn(row), state, text, fromSecond: fromMs / 1_000, toSecond: toMs / 1_000 };
  });
  return [...loads, ...faults];
}

const behindProxy = [
  'redis-main',
  'redis-1',
  'redis-2',
  'redis-3',
  'zookeeper',
  'mariadb',
  'mysql',
];

/** Of a process, of what it stores, of the network before it, of the clock and the loop inside. */
const groups = {
  process: ['stop', 'kill', 'pause'],
  data: ['restart', 'restart-empty', 'flush-all', 'flush-scripts', 'fill-disk'],
  network: ['slow', 'drop', 'reset', 'refuse'],
  inside: ['block-event-loop', 'step-clock-back', 'step-clock-forward'],
} as const satisfies Record<string, readonly HandVerb[]>;

export type OfferedVerb =
  | (typeof groups)[keyof typeof groups][number]
  | 'start'
  | 'resume'
  | 'mend';

/** What can be done to it now: a server that stands still, or is away, is mended first. */
export function offeredVerbs({ name, state }: PartState, isBroken: boolean): OfferedVerb[] {
  if (state === 'stopped') return ['start'];
  if (state === 'paused') return ['resume', 'kill'];
  if (isBroken) return ['mend'];
  return [
    ...groups.process,
    ...(name.startsWith('redis-') ? groups.data : []),
    ...(behindProxy.includes(name) ? groups.network : []),
    ...(/^api-\d+$/.test(name) ? groups.inside : []),
  ];
}

/** What a server is called that has ended: by what was done to it, or `ended` by itself. */
export function endedBy(faults: readonly string[]): 'stopped' | 'killed' | 'ended' {
  const states = faults.map((name) => faultWords(name).state);
  return states.findLast((state) => state === 'stopped' || state === 'killed') ?? 'ended';
}

/** From the top to the bottom, as a purchase goes. */
const tiers: readonly RegExp[] = [
  /^nginx$/,
  /^api-/,
  /^redis-(main|replica)|^sentinel/,
  /^redis-\d+$|^zookeeper$|^rabbitmq$/,
  /^mariadb$|^mysql$/,
];

export const tiersOf = (parts: readonly PartState[]): PartState[][] =>
  tiers
    .map((tier) => parts.filter(({ name }) => tier.test(name)))
    .filter((tier) => tier.length > 0);
