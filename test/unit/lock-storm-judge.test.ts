/** The judge of the lock storm, on records with one thing wrong each. */
import { describe, expect, test } from 'vitest';
import { judgeStorm } from '../../src/lab/lock-storm/judge.ts';
import { leastLeftMs, stormPlan } from '../../src/lab/lock-storm/plan.ts';
import type { Done, StormRecord } from '../../src/lab/lock-storm/records.ts';

const key = 'seat';
const nothing: Done = {
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

const judged = (records: readonly StormRecord[], done: Partial<Done> = {}) =>
  judgeStorm(
    [...records].sort((one, other) => one.at - other.at),
    { ...nothing, ...done },
  );

test('sections one after the other are right', () => {
  const { violations, sections } = judged([...turn('a', 10, 20), ...turn('b', 21, 30)]);
  expect(violations).toEqual([]);
  expect(sections).toBe(2);
});

describe('two sections at once', () => {
  const late = 10 + leastLeftMs;
  const both = [...turn('a', 10, late + 40), ...turn('b', late + 1, late + 5, { beside: ['a'] })];

  test('are an overlap', () => {
    expect(judged(both).violations).toEqual([expect.stringMatching(/^overlap: seat a .* seat b /)]);
  });

  test('are allowed when the first was stopped for all that its lease had left', () => {
    const stops = [{ process: 'a', from: 11, to: late + 30 }];
    const shifted = [
      ...turn('a', 10, late + 40),
      ...turn('b', late + 9, late + 15, { beside: ['a'] }),
    ];
    const { violations, allowedOverlaps } = judged(shifted, { stops });
    expect(violations).toEqual([]);
    expect(allowedOverlaps).toBe(1);
  });

  test.each([
    ['another process was stopped', { process: 'b', from: 11, to: late + 30 }],
    ['the stop was too short to lose a lease', { process: 'a', from: 11, to: late - 600 }],
    ['the stop was before it asked', { process: 'a', from: 1, to: 8 }],
    ['the other entered too soon', { process: 'a', from: 20, to: late + 30 }],
  ])('are an overlap when %s', (_, stop) => {
    expect(judged(both, { stops: [stop] }).violations).toHaveLength(1);
  });

  test('are none when the first was killed before, and its mark was removed', () => {
    const [asked, entered] = turn('a', 10, 20);
    if (!asked || !entered) throw new Error('no turn');
    const kills = [{ process: 'a', at: 15 }];
    const counters = new Map([[key, 1]]);
    expect(judged([asked, entered, ...turn('b', 30, 40)], { kills, counters }).violations).toEqual(
      [],
    );
  });
});

test('an update that no overlap explains is lost', () => {
  const counters = new Map([[key, 1]]);
  const records = [...turn('a', 10, 20), ...turn('b', 21, 30)];
  expect(judged(records, { counters }).violations).toEqual(['1 updates lost, by 0 overlaps']);
});

test('a lease that is lost needs a reason', () => {
  const records = turn('a', 10, 20, { wrote: null });
  const counters = new Map<string, number>();
  expect(judged(records, { counters }).violations).toEqual([
    expect.stringMatching(/^lease lost: seat a/),
  ]);
  const stops = [{ process: 'a', from: 12, to: 18 }];
  expect(judged(records, { counters, stops }).violations).toEqual([]);
  expect(judged(records, { counters, disconnections: [{ from: 12, to: 18 }] }).violations).toEqual(
    [],
  );
});

describe('a waiter beside a free lock', () => {
  const records = [...turn('a', 10, 20), ...turn('b', 2_000, 2_010)];
  const sleeper: StormRecord[] = [
    { process: 'c', key, lane: 0, event: 'asked', at: 15, style: 'long' },
    { process: 'c', key, lane: 0, event: 'refused', at: 1_800, reason: 'not-in-time' },
  ];

  test('has missed the release', () => {
    expect(judged([...records, ...sleeper]).violations).toEqual([
      'c slept 1780 ms beside a free seat',
    ]);
    expect(judged([...records, ...sleeper.slice(0, 1)]).violations).not.toEqual([]);
  });

  test('may sleep after a fault, and when it was killed', () => {
    expect(judged([...records, ...sleeper], { calm: [{ from: 0, to: 900 }] }).violations).toEqual(
      [],
    );
    expect(judged([...records, ...sleeper], { sleepless: new Set() }).violations).toEqual([]);
    const kills = [{ process: 'c', at: 30 }];
    expect(judged([...records, ...sleeper.slice(0, 1)], { kills }).violations).toEqual([]);
  });
});

test('the owner who is refused inside its own section is a violation', () => {
  const refusal: StormRecord = { process: 'a', key, lane: 0, event: 're-entry-refused', at: 15 };
  expect(judged([...turn('a', 10, 20), ...turn('b', 21, 30), refusal]).violations).toHaveLength(1);
});

test('a seed gives the same faults each time, and another seed gives others', () => {
  const first = (seed: number) => {
    const plan = stormPlan(seed);
    return Array.from({ length: 20 }, () => plan.next().value);
  };
  expect(first(7)).toEqual(first(7));
  expect(first(7)).not.toEqual(first(8));
});
