/** The judge of the lock storm, on records with one thing wrong each. */
import { describe, expect, test } from 'vitest';
import { judgeStorm } from '../../src/lab/lock-storm/judge.ts';
import { leftMsMin, stormPlan } from '../../src/lab/lock-storm/plan.ts';
import type { StormFaults, StormRecord } from '../../src/lab/lock-storm/records.ts';

const key = 'seat';
const nothing: StormFaults = {
  stops: [],
  kills: [],
  disconnections: [],
  calm: [{ from: 0, to: 100_000 }],
  counters: new Map([[key, 2]]),
  sleepless: new Set([key]),
};

/** One turn of a lane in a process of the same name. */
function turn(
  process: string,
  from: number,
  to: number,
  { beside = [], wrote = 1 }: { beside?: string[]; wrote?: number | null } = {},
): StormRecord[] {
  const each = { process, key, lane: 0, section: process };
  return [
    { ...each, event: 'asked', at: from - 1, style: 'long' },
    { ...each, event: 'entered', at: from, style: 'long', asked: from - 1, beside, read: 0 },
    { ...each, event: 'left', at: to, wrote },
  ];
}

const judged = (records: readonly StormRecord[], done: Partial<StormFaults> = {}) => {
  const inOrder = [...records].sort((one, other) => one.at - other.at);
  return judgeStorm(inOrder, { ...nothing, ...done });
};
const violations = (...given: Parameters<typeof judged>) => judged(...given).violations;
const oneByOne = [...turn('a', 10, 20), ...turn('b', 21, 30)];

test('sections one after the other are right', () => {
  expect(judged(oneByOne)).toMatchObject({ violations: [], sections: 2 });
});

describe('two sections at once', () => {
  const late = 10 + leftMsMin;
  const both = [...turn('a', 10, late + 40), ...turn('b', late + 1, late + 5, { beside: ['a'] })];

  test('are an overlap', () => {
    expect(violations(both)).toEqual([expect.stringMatching(/^overlap: seat a .* seat b /)]);
  });

  test('are allowed when the first was stopped for all that its lease had left', () => {
    const stops = [{ process: 'a', from: 11, to: late + 30 }];
    const shifted = [
      ...turn('a', 10, late + 40),
      ...turn('b', late + 9, late + 15, { beside: ['a'] }),
    ];
    expect(judged(shifted, { stops })).toMatchObject({ violations: [], allowedOverlaps: 1 });
  });

  test.each([
    ['another process was stopped', { process: 'b', from: 11, to: late + 30 }],
    ['the stop was too short to lose a lease', { process: 'a', from: 11, to: late - 600 }],
    ['the stop was before it asked', { process: 'a', from: 1, to: 8 }],
    ['the other entered too soon', { process: 'a', from: 20, to: late + 30 }],
  ])('are an overlap when %s', (_, stop) => {
    expect(violations(both, { stops: [stop] })).toHaveLength(1);
  });

  test('are none when the first was killed before, and its mark was removed', () => {
    const untilKilled = turn('a', 10, 20).slice(0, 2);
    const kills = [{ process: 'a', at: 15 }];
    const counters = new Map([[key, 1]]);
    expect(violations([...untilKilled, ...turn('b', 30, 40)], { kills, counters })).toEqual([]);
  });
});

test('an update that no overlap explains is lost', () => {
  const counters = new Map([[key, 1]]);
  expect(violations(oneByOne, { counters })).toEqual(['1 updates lost, by 0 overlaps']);
});

test('a lease that is lost needs a reason', () => {
  const records = turn('a', 10, 20, { wrote: null });
  const counters = new Map<string, number>();
  const lost = expect.stringMatching(/^lease lost: seat a/);
  expect(violations(records, { counters })).toEqual([lost]);
  const stops = [{ process: 'a', from: 12, to: 18 }];
  expect(violations(records, { counters, stops })).toEqual([]);
  const disconnections = [{ from: 12, to: 18 }];
  expect(violations(records, { counters, disconnections })).toEqual([]);
});

describe('a waiter beside a free lock', () => {
  const records = [...turn('a', 10, 20), ...turn('b', 2_000, 2_010)];
  const sleeps: StormRecord[] = [
    ...records,
    { process: 'c', key, lane: 0, event: 'asked', at: 15, style: 'long' },
  ];
  const refused = { event: 'refused', at: 1_800, reason: 'not-in-time' } as const;
  const isRefused: StormRecord[] = [...sleeps, { process: 'c', key, lane: 0, ...refused }];

  test('has missed the release', () => {
    expect(violations(isRefused)).toEqual(['c slept 1780 ms beside a free seat']);
    expect(violations(sleeps)).not.toEqual([]);
  });

  test('may sleep after a fault, and when it was killed', () => {
    expect(violations(isRefused, { calm: [{ from: 0, to: 900 }] })).toEqual([]);
    expect(violations(isRefused, { sleepless: new Set() })).toEqual([]);
    expect(violations(sleeps, { kills: [{ process: 'c', at: 30 }] })).toEqual([]);
  });
});

test('the owner who is refused inside its own section is a violation', () => {
  const refusal: StormRecord = { process: 'a', key, lane: 0, event: 're-entry-refused', at: 15 };
  expect(violations([...oneByOne, refusal])).toHaveLength(1);
});

test('a seed gives the same faults each time, and another seed gives others', () => {
  const first = (seed: number) => {
    const plan = stormPlan(seed);
    return Array.from({ length: 20 }, () => plan.next().value);
  };
  expect(first(7)).toEqual(first(7));
  expect(first(7)).not.toEqual(first(8));
});
