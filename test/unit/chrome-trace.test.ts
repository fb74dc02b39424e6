/** The trace of an experiment: what Perfetto needs so that it shows every slice and every flow. */
import { describe, expect, test } from 'vitest';
import { chromeTrace, type TraceEvent } from '../../src/lab/report/chrome-trace.ts';
import type { EventContent, StageEvent } from '../../src/lab/stage/events.ts';
import { facts, history } from './facts.ts';

/** Its clock began long before the experiment. */
const later = (nanoseconds: number | string) => String(9_000_000_000_000n + BigInt(nanoseconds));
const at = (ms: number) => later(ms * 1_000_000);

const instances: Record<string, string> = { A: 'api-1', B: 'api-2' };
const happened = history(
  ...['1 A 7 received', '2 A 7 requested', '3 A 7 granted', '4 A 7 after-check'],
  ...['5 B 8 received', '6 B 8 requested', '20 A 7 releasing', '21 A 7 released'],
  ...['22 B 8 granted', '23 A 7 accepted', '30 B 8 refused already-ordered', '40 A 7 recorded'],
).map((event) => {
  const instance = event.event === 'recorded' ? 'api-worker-1' : instances[event.orderId ?? ''];
  return { ...event, at: later(event.at), instance: instance ?? '' };
});

const stageEvents = (...given: [ms: number, event: EventContent][]): StageEvent[] =>
  given.map(([ms, event], index) => ({ ...event, number: index + 1, at: at(ms) }));
const events = stageEvents(
  [0, { kind: 'started', experiment: 'x', about: { en: '', zh: '' }, options: {} }],
  [7, { kind: 'fault', id: 1, name: 'stop redis-1' }],
  [9, { kind: 'fault', id: 2, name: 'pause redis-1' }],
  [12, { kind: 'healed', id: 1, name: 'stop redis-1' }],
  [50, { kind: 'healed', id: 2, name: 'pause redis-1' }],
  [60, { kind: 'fault', id: 3, name: 'kill nginx' }],
  [
    80,
    {
      ...{ kind: 'second', beganAt: at(0), second: 1, isLoaded: true, accepted: 4, unknown: 1 },
      ...{ refusedBecause: { busy: 2, 'sold-out': 3 }, p99Ms: 4, byInstance: {} },
    },
  ],
);
const sale = facts({ initialStock: 5, history: happened.toReversed() });
const { traceEvents } = chromeTrace(events, [sale]);

const of = (ph: TraceEvent['ph']) => traceEvents.filter((event) => event.ph === ph);
const nameOf = (kind: string, wanted: (event: TraceEvent) => boolean) =>
  of('M').find((event) => event.name === kind && wanted(event))?.args?.['name'];
const placeOf = ({ pid, tid }: TraceEvent) => [
  nameOf('process_name', (event) => event.pid === pid),
  nameOf('thread_name', (event) => event.pid === pid && event.tid === tid),
];

describe('a trace', () => {
  test('has a process for each instance, and a track for each request in it', () => {
    const waits = of('X').filter(({ name }) => name === 'waits for the lock');
    expect(waits.map(placeOf)).toEqual([
      ['api-1', 'user 7, r7'],
      ['api-2', 'user 8, r8'],
    ]);
    expect(of('X').find(({ name }) => name === 'recorded')).toBeDefined();
    expect(waits.map(({ ts, dur }) => [ts, dur])).toEqual([
      [2_000, 1_000],
      [6_000, 16_000],
    ]);
  });

  test('has no overlapping slices on a track, also of two faults at once', () => {
    const tracks = Map.groupBy(of('X'), ({ pid, tid }) => `${pid} ${tid}`);
    expect(tracks.size).toBe(6);
    for (const slices of tracks.values())
      for (const [index, slice] of slices.entries()) {
        const next = slices[index + 1];
        if (next) expect(next.ts).toBeGreaterThanOrEqual(slice.ts + (slice.dur ?? 0));
      }
    const faults = of('X').filter((event) => placeOf(event)[0] === 'the servers');
    expect(faults.map((event) => [event.name, placeOf(event)[1], event.dur])).toEqual([
      ['stop redis-1', 'redis-1', 5_000],
      ['pause redis-1', 'redis-1 (2)', 41_000],
      ['kill nginx', 'nginx', 20_000], // Nobody has mended it.
    ]);
  });

  test('has a flow from the release of a lock to its next grant, inside of two slices', () => {
    const [start, ...others] = of('s');
    const [end] = of('f');
    expect(others).toEqual([]);
    expect([start?.id, start?.ts, end?.ts]).toEqual([end?.id, 20_000, 22_000]);
    for (const flow of [start, end])
      expect(of('X').filter((slice) => contains(slice, flow))).toHaveLength(1);
  });

  test('counts the stock down, and the answers of each second', () => {
    const counted = of('C').map(({ name, ts, args }) => [name, ts, args]);
    expect(counted).toEqual([
      ['stock of 9', 23_000, { left: 4 }],
      ['answers a second', 1_000_000, { accepted: 4, refused: 5, unknown: 1 }],
    ]);
  });

  test('is empty for an experiment without faults, seconds and facts', () => {
    expect(chromeTrace([], [])).toEqual({ traceEvents: [] });
  });
});

const contains = (slice: TraceEvent, flow: TraceEvent | undefined): boolean =>
  slice.pid === flow?.pid &&
  slice.tid === flow.tid &&
  slice.ts <= flow.ts &&
  flow.ts < slice.ts + (slice.dur ?? 0);
