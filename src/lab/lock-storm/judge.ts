/**
 * Judges a lock storm by its witness. Sections of one key may overlap for one reason: a process was
 * stopped for longer than its lease could last.
 */
import { sum } from '../stage/counts.ts';
import { leftMsMin } from './plan.ts';
import type { EntryRecord, ExitRecord, Period, StormFaults, StormRecord } from './records.ts';

export interface Judgement {
  readonly violations: readonly string[];
  readonly sections: number;
  /** Overlaps that a stop explains. */
  readonly allowedOverlaps: number;
  /** Updates of the counters that an allowed overlap lost. */
  readonly lostUpdates: number;
  /** Sections whose lease was lost: they wrote nothing. */
  readonly lostLeases: number;
  /** For each kind of process, key and way to ask: granted of asked. */
  readonly grants: Readonly<Record<string, string>>;
}

/** A process that runs again may need this long to notice it. */
const noticeMs = 500;
/** A waiter is notified when the lock is released; this is no measure, only far below a lease. */
const idleMs = 1_000;

interface Section extends EntryRecord {
  readonly to: number;
  readonly left: ExitRecord | undefined;
}

export function judgeStorm(records: readonly StormRecord[], done: StormFaults): Judgement {
  const sections = sectionsOf(records, done);
  const pairs = overlaps(sections);
  const forbidden = pairs.filter((pair) => !isAllowed(pair, done));
  const allowedOverlaps = pairs.length - forbidden.length;
  const lost = sections.filter(({ left }) => left?.wrote === null);
  const lostUpdates = updatesLost(sections, done);
  const violations = [
    ...forbidden.map(([one, other]) => `overlap: ${text(one)} and ${text(other)}`),
    ...(lostUpdates > pairs.length
      ? [`${lostUpdates} updates lost, by ${pairs.length} overlaps`]
      : []),
    ...lost.filter((each) => !hasReason(each, done)).map((each) => `lease lost: ${text(each)}`),
    ...records.filter(({ event }) => event === 're-entry-refused').map(whereOf),
    ...idleWaits(records, done),
  ];
  return {
    violations,
    sections: sections.length,
    allowedOverlaps,
    lostUpdates,
    lostLeases: lost.length,
    grants: grantsOf(records),
  };
}

function grantsOf(records: readonly StormRecord[]): Record<string, string> {
  const counts = new Map<string, { asked: number; granted: number }>();
  for (const each of records) {
    if (each.event !== 'asked' && each.event !== 'entered') continue;
    const name = `${each.process.split('-')[0]} ${each.key} ${each.style}`;
    const count = counts.get(name) ?? { asked: 0, granted: 0 };
    count[each.event === 'asked' ? 'asked' : 'granted'] += 1;
    counts.set(name, count);
  }
  const texts = [...counts].map(([name, { asked, granted }]) => [name, `${granted} of ${asked}`]);
  return Object.fromEntries(texts.sort());
}

const text = ({ key, section, at, to }: Section) =>
  `${key} ${section} (${at.toFixed(0)} to ${to.toFixed(0)})`;
const whereOf = ({ event, key, process, at }: StormRecord) =>
  `${event}: ${key} in ${process} (${at.toFixed(0)})`;

function sectionsOf(records: readonly StormRecord[], { kills }: StormFaults): Section[] {
  const lefts = new Map(
    records.filter((each) => each.event === 'left').map((each) => [each.section, each]),
  );
  const killedAt = new Map(kills.map(({ process, at }) => [process, at]));
  return records
    .filter((each) => each.event === 'entered')
    .map((entered) => {
      const left = lefts.get(entered.section);
      const to = left?.at ?? killedAt.get(entered.process) ?? Number.POSITIVE_INFINITY;
      return { ...entered, left, to };
    });
}

function overlaps(sections: readonly Section[]): [Section, Section][] {
  const named = new Map(sections.map((each) => [each.section, each]));
  const pairs = new Map<string, [Section, Section]>();
  // Without a record it was killed before it could write one.
  for (const later of sections)
    for (const earlier of later.beside.map((name) => named.get(name)))
      if (earlier) pairs.set([earlier.section, later.section].sort().join(), [earlier, later]);
  return [...pairs.values()];
}

const isAllowed = ([one, other]: [Section, Section], done: StormFaults): boolean =>
  isStale(one, other, done) || isStale(other, one, done);

/**
 * Whether the lease of `stale` must have expired before `other` entered: its process was stopped,
 * with the lease or on its way to it, for all that the lease had left.
 */
const isStale = (stale: Section, other: Section, { stops }: StormFaults): boolean =>
  stops.some(
    ({ process, from, to }) =>
      process === stale.process &&
      from >= stale.asked &&
      from <= stale.to &&
      other.at >= from + leftMsMin &&
      other.at <= to + noticeMs,
  );

/**
 * Updates that another one overwrote: the counters lack them. A section that was killed may have
 * written without a record.
 */
function updatesLost(sections: readonly Section[], { counters }: StormFaults): number {
  const written = sections.filter(({ left }) => typeof left?.wrote === 'number').length;
  const counted = sum([...counters.values()]);
  return Math.max(0, written - counted);
}

/** A lease is lost by a stop of its process, or when its renewals met broken connections. */
const hasReason = (
  { process, asked, to }: Section,
  { stops, disconnections }: StormFaults,
): boolean =>
  [...stops.filter((stop) => stop.process === process), ...disconnections].some(
    (reason) => reason.from < to && reason.to > asked,
  );

/** In calm periods only: a fault may cost a message, or a release, and then the lease expires. */
function idleWaits(records: readonly StormRecord[], done: StormFaults): string[] {
  const waits = waitsOf(records, done).filter(({ key }) => done.sleepless.has(key));
  return done.calm.flatMap((period) =>
    freePeriods(records, period).flatMap(({ key, from, to }) =>
      waits
        .filter((wait) => wait.key === key)
        .map((wait) => ({ ...wait, idle: Math.min(wait.to, to) - Math.max(wait.from, from) }))
        .filter(({ idle }) => idle > idleMs)
        .map(
          ({ key, process, idle }) => `${process} slept ${idle.toFixed(0)} ms beside a free ${key}`,
        ),
    ),
  );
}

interface Wait extends Period {
  readonly key: string;
  readonly process: string;
}

/** From each question to its answer, if there was one. */
function waitsOf(records: readonly StormRecord[], { kills }: StormFaults): Wait[] {
  const open = new Map<string, Wait>();
  const waits: Wait[] = [];
  for (const each of records) {
    if (each.event !== 'asked' && each.event !== 'entered' && each.event !== 'refused') continue;
    const { key, process, lane, at } = each;
    const id = `${process} ${key} ${lane}`;
    const wait = open.get(id);
    if (wait) waits.push({ ...wait, to: at });
    open.delete(id);
    if (each.event === 'asked')
      open.set(id, { key, process, from: at, to: Number.POSITIVE_INFINITY });
  }
  const killed = new Set(kills.map(({ process }) => process));
  return [...waits, ...[...open.values()].filter(({ process }) => !killed.has(process))];
}

/**
 * From each section to the next of its key, inside the period. A release that the next one
 * overtakes is recorded late, and then the lock is not free.
 */
function freePeriods(
  records: readonly StormRecord[],
  { from, to }: Period,
): (Period & { key: string })[] {
  const leftAt = new Map<string, number>();
  const free: (Period & { key: string })[] = [];
  const end = (key: string, at: number) => {
    const since = leftAt.get(key);
    if (since !== undefined) free.push({ key, from: since, to: at });
    leftAt.delete(key);
  };
  for (const { event, key, at } of records) {
    if (at < from || at > to) continue;
    if (event === 'left' || (event === 'released' && leftAt.has(key))) leftAt.set(key, at);
    if (event === 'release-failed') leftAt.delete(key); // It expires.
    if (event === 'entered') end(key, at);
  }
  for (const key of [...leftAt.keys()]) end(key, to);
  return free;
}
