/** An experiment that runs in the lab, or has run, as a pure function of its events. */

import type {
  LockOnServers,
  PartState,
  SaleCounts,
  ScoredCell,
  StageEvent,
} from '../../lab/stage/events.ts';
import type { Mark, Second } from '../../lab/stage/seconds.ts';
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
  readonly seconds: readonly Second[];
  /** When second 0 began. */
  readonly zeroMs: number | undefined;
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
      ...{ ...event, told: [], seconds: [], zeroMs: undefined },
      ...{ parts: [], counts: {}, locks: {}, cells: [] },
    };
  if (!run) return run;
  if (isTold(event)) return { ...run, told: [...run.told, event] };
  if (event.kind === 'second')
    return {
      ...run,
      seconds: [...run.seconds, event],
      zeroMs: run.zeroMs ?? Number(event.beganAt) / 1_000_000,
    };
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
export const zeroOf = (run: RunView): number => run.zeroMs ?? msOf(run);

/** The starts and ends of its loads and faults. */
export function marksOf({ told, zeroMs }: RunView): Mark[] {
  const first = told.find(({ kind }) => kind === 'load-started' || kind === 'fault');
  const zero = zeroMs ?? (first ? msOf(first) : 0);
  return told.flatMap((event): Mark[] => {
    const atMs = Math.max(0, Math.round(msOf(event) - zero));
    if (event.kind === 'load-started' || event.kind === 'load-ended')
      return [{ atMs, of: 'load', isStart: event.kind === 'load-started', name: event.name }];
    if (event.kind === 'fault' || event.kind === 'healed')
      return [{ atMs, of: 'fault', isStart: event.kind === 'fault', name: event.name }];
    return [];
  });
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
