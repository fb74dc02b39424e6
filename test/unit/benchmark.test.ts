/** When the figures of a benchmark count, and when a target is missed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { faultsOfEnd } from '../../src/lab/benchmarks/bucket-benchmark.ts';
import { byRole, cpuRoles, machineTime, otherShare } from '../../src/lab/benchmarks/cpu-by-role.ts';
import { faultsOfSale, legitimateRefusals } from '../../src/lab/benchmarks/faults-of-figures.ts';
import { flatness, type GrowthRow, marksUpTo } from '../../src/lab/benchmarks/growth-benchmark.ts';
import { floor, type LockCost, lockTarget } from '../../src/lab/benchmarks/lock-benchmark.ts';
import type { LoadMeasurement, MeasuredSale } from '../../src/lab/benchmarks/measure.ts';
import {
  faultsOfRound,
  type Round,
  reachableRatio,
} from '../../src/lab/benchmarks/purchase-benchmark.ts';
import { isCorrectOrderByOrder } from '../../src/lab/benchmarks/rung-benchmark.ts';
import {
  faultsOfStep,
  type RateLimits,
  reasonsAgainst,
  type SaturationStep,
  saturationReport,
  searchRate,
} from '../../src/lab/benchmarks/saturation.ts';
import { figuresOfScript } from '../../src/lab/benchmarks/script-buyer.ts';
import {
  fallen,
  judgeTarget,
  readRecordedFigures,
  spreadOf,
  spreadOfKnown,
} from '../../src/lab/benchmarks/targets.ts';
import { blocksText } from '../../src/lab/report/table.ts';
import { ladder, rungNames } from '../../src/service/ladder/rungs.ts';
import { someFolder } from '../support/basics.ts';
import { cpu, exactly, measured } from './bench-figures.ts';

const answered = (answers: LoadMeasurement['answers']) => measured({ answers });
const sale = (given: Partial<MeasuredSale> = {}): MeasuredSale => ({
  ...{ purchase: measured(), accepted: 100, acceptedPerSecond: 1 },
  ...{ recorded: 100, recordedPerSecond: 1, lagMs: 1, deepest: 1 },
  ...given,
});

describe('the figures of a sale count', () => {
  test('when every request was accepted and every order is recorded', () => {
    expect(faultsOfSale('lua-stream', sale(), 8)).toEqual([]);
    expect(faultsOfSale('lua-stream', sale({ recorded: 108 }), 8)).toEqual([]);
  });

  test.each<[string, Partial<MeasuredSale>]>([
    ['a purchase was refused', { purchase: answered({ accepted: 100, busy: 1 }) }],
    ['all were refused, fast', { purchase: answered({ accepted: 0 }) }],
    ['a purchase got no answer', { purchase: measured({ broken: 1 }) }],
    ['an accepted order is not recorded', { recorded: 99 }],
    ['more is recorded than was requested', { recorded: 109 }],
    ['a process was replaced', { purchase: measured({ cpu: { ...cpu, api: null } }) }],
  ])('not when %s', (_, given) => {
    expect(faultsOfSale('lua-stream', sale(given), 8)).toHaveLength(1);
  });

  test('with the refusals that a rung may give, and with no others', () => {
    const faults = (rung: string, refusals: LoadMeasurement['answers']) =>
      faultsOfSale(rung, sale({ purchase: answered({ accepted: 100, ...refusals }) }), 8);
    expect(faults('version-check', { conflict: 900 })).toEqual([]);
    expect(faults('redis-no-retry', { conflict: 900 })).toHaveLength(1);
    expect(faults('version-check', { 'sold-out': 1 })).toHaveLength(1);
    expect(legitimateRefusals(ladder['lua-stream'])).toEqual([]);
    expect(legitimateRefusals(ladder['redis-no-retry'])).toContain('busy');
  });
});

describe('the figures of a round count', () => {
  const right = {
    ...{ nginx: measured(), node: measured(), bare: measured(), noop: measured() },
    ...{ purchase: measured(), 'sold-out': answered({ 'sold-out': 100 }) },
  };
  const faults = (given: Partial<Round['requests']>) =>
    faultsOfRound({ requests: { ...right, ...given }, sale: sale() }, 8);

  test('when every answer is the expected one', () => {
    expect(faults({})).toEqual([]);
  });

  test.each(['nginx', 'node', 'bare', 'noop', 'sold-out'] as const)(
    'not when %s was answered something else, or nothing',
    (name) => {
      for (const answers of [{ 'not-ready': 9 }, {}])
        expect(faults({ [name]: answered(answers) }).join()).toMatch(`${name}: `);
    },
  );

  test('not when a sold-out voucher was sold', () => {
    expect(faults({ 'sold-out': answered({ 'sold-out': 9, accepted: 1 }) })).toHaveLength(1);
  });
});

test('a purchase could reach the ratio that leaves out what the API itself could save', () => {
  const timesOf = (times: Record<string, number | null>) => ({
    cpu: byRole((role) => spreadOfKnown([times[role] === null ? null : (times[role] ?? 0)])),
  });
  const bare = timesOf({ load: 20, nginx: 20, api: 60 });
  const purchase = timesOf({ load: 90, nginx: 90, api: 900, redis: 15, worker: 8, database: 2 });
  expect(reachableRatio({ bare, purchase })).toBe(0.8);
  // A process of Redis ended meanwhile.
  expect(reachableRatio({ bare, purchase: timesOf({ redis: null }) })).toBeNull();
});

describe('a target', () => {
  const least = { name: 'ratio', atLeast: 0.6, because: 'a reason' };
  const most = { name: 'lag', atMost: 3, because: 'a reason' };
  type Target = typeof least | typeof most;

  test.each<[answer: string, target: Target, rounds: number[]]>([
    ['met', least, [0.5, 0.6, 0.7]],
    ['met', most, [1, 3, 9]],
    // By more than the spread: no round meets it.
    ['missed', least, [0.4, 0.5, 0.59]],
    ['missed', most, [3.1, 4]],
    ['unclear', least, [0.4, 0.5, 0.7]],
    ['unclear', most, [2, 4, 5]],
    // One round has no spread.
    ['unknown', least, [0.1]],
  ])('is %s by the median: %j in rounds of %j', (answer, target, rounds) => {
    expect(judgeTarget(target, spreadOf(rounds), rounds.length).answer).toBe(answer);
  });

  test('is not judged without a figure', () => {
    expect(judgeTarget(least, null, 5).answer).toBe('unknown');
  });

  test('fails a gate only when no round is as good as the worst one of the recorded run', () => {
    const now = (target: Target, ...rounds: number[]) =>
      judgeTarget(target, spreadOf(rounds), rounds.length);
    const recorded = new Map([
      ['ratio', spreadOf([0.5, 0.6])],
      ['lag', spreadOf([2, 3])],
    ]);
    expect(fallen([now(least, 0.3, 0.5), now(most, 3, 9)], recorded)).toEqual([]);
    expect(fallen([now(least, 0.3, 0.49), now(most, 3.1, 9)], recorded)).toEqual([
      expect.stringContaining('ratio: 0.40 (0.30..0.49)'),
      expect.stringContaining('lag'),
    ]);
    expect(fallen([now(least, 0.1)], new Map())).toEqual([]);
    expect(fallen([judgeTarget(least, null, 3)], recorded)).toEqual([]);
  });

  test('is read from the file of an earlier run, and from no other file', () => {
    const folder = someFolder();
    const file = join(folder, 'bench.json');
    const targets = [judgeTarget(least, spreadOf([0.5, 0.6]), 2), judgeTarget(most, null, 2)];
    writeFileSync(file, JSON.stringify({ targets, seconds: 1 }));
    expect(readRecordedFigures(file)).toEqual(new Map([['ratio', spreadOf([0.5, 0.6])]]));
    writeFileSync(file, '{}');
    for (const other of [file, join(folder, 'none')])
      expect(() => readRecordedFigures(other)).toThrow(/name the bench.json/);
  });
});

describe('a spread', () => {
  test('has the median, also of an even number of rounds', () => {
    expect(spreadOf([3, 1, 2])).toEqual({ median: 2, least: 1, most: 3 });
    expect(spreadOf([4, 1, 2, 3]).median).toBe(2.5);
  });

  test('is never made of what is no number', () => {
    for (const values of [[], [1, Number.NaN]]) expect(() => spreadOf(values)).toThrow(RangeError);
    for (const unknown of [null, Number.NaN, Number.POSITIVE_INFINITY])
      expect(spreadOfKnown([1, unknown])).toBeNull();
    expect(spreadOfKnown([])).toBeNull();
  });
});

test('a queue is compared with rungs that write order by order, and that no rush breaks', () => {
  const names = rungNames.filter(isCorrectOrderByOrder);
  expect(names).toEqual(expect.arrayContaining(['stock-positive', 'row-lock', 'redis-atomic']));
  for (const wrong of ['read-then-write', 'check-then-insert', 'mutex-per-user', 'lua-stream'])
    expect(names).not.toContain(wrong);
});

describe('the search for the highest rate', () => {
  const limits = { first: 100, least: 10, most: 10_000 };
  /** A service that sustains `knee`; the answer to `hiccup` is wrong. */
  function search(knee: number, hiccup = 0, more: Partial<RateLimits> = {}) {
    let count = 0;
    const measure = async (rate: number) => {
      count += 1;
      return { rate, isGood: rate <= knee !== (count === hiccup) };
    };
    return searchRate(measure, { ...limits, ...more });
  }

  test.each([100, 150, 333, 1_000, 5_000])('finds a knee at %i, and goes past it', async (knee) => {
    const { best, steps } = await search(knee);
    expect(best).toBeLessThanOrEqual(knee);
    expect(best).toBeGreaterThan(knee / 1.12);
    expect(Math.max(...steps.map(({ rate }) => rate))).toBeGreaterThan(knee * 1.24);
    expect(steps.length).toBeLessThan(40);
  });

  test('goes down when the first rate is too high, and gives up at the least', async () => {
    expect((await search(30)).best).toBeLessThanOrEqual(30);
    expect((await search(5)).best).toBeNull();
  });

  test('ends at the most, and where no whole rate is between', async () => {
    expect((await search(1e9, 0, { most: 500 })).best).toBeLessThanOrEqual(500);
    expect((await search(3, 0, { first: 4, least: 1 })).best).toBe(3);
  });

  test('is not misled by one hiccup or one lucky measurement, whenever it comes', async () => {
    const { best: right } = await search(1_000);
    for (let hiccup = 1; hiccup <= 30; hiccup++) {
      const { best, steps } = await search(1_000, hiccup);
      expect(best, `${hiccup}`).toBe(right);
      expect(steps.filter(({ rate, isGood }) => rate === best && isGood)).toHaveLength(2);
    }
  });
});

describe('a rate is not sustained', () => {
  const k6 = { answers: { accepted: 500 }, dropped: 0, p99Ms: 50 };

  test('unless everything that was due was sent, accepted and answered soon', () => {
    expect(reasonsAgainst(k6, 500)).toEqual([]);
  });

  test.each([
    ['an iteration was dropped', { dropped: 1 }],
    ['a hundredth was not sent', { answers: { accepted: 490 } }],
    ['the p99 is too high', { p99Ms: 50.1 }],
    ['the p99 is no number', { p99Ms: Number.NaN }],
    ['a purchase was refused', { answers: { accepted: 499, 'not-ready': 1 } }],
    ['an outcome is unknown', { answers: { accepted: 499, unknown: 1 } }],
  ])('when %s', (_, given) => {
    expect(reasonsAgainst({ ...k6, ...given }, 500)).toHaveLength(1);
  });

  test.each([
    [500, 0],
    [502, 0],
    [499, 1],
    [503, 1],
  ])('of 500 accepted orders and 2 unknown, %i are recorded: %i faults', (recorded, faults) => {
    const step = { rate: 100, answers: { accepted: 500, unknown: 2 }, accepted: 500, recorded };
    expect(faultsOfStep(step)).toHaveLength(faults);
  });

  test('and its figures do not count when it sold out', () => {
    const answers = { accepted: 500, 'sold-out': 1 };
    expect(faultsOfStep({ rate: 100, answers, accepted: 500, recorded: 500 })).toHaveLength(1);
  });
});

describe('the growth of a voucher', () => {
  test('is shown at 1, 2 and 5 times each power of ten, and at the last order', () => {
    expect(marksUpTo(10_000)).toEqual([10_000]);
    expect(marksUpTo(60_000)).toEqual([10_000, 20_000, 50_000, 60_000]);
    expect(marksUpTo(1_000_000)).toHaveLength(7);
  });

  const row = (given: Partial<GrowthRow> = {}): GrowthRow => ({
    ...{ orders: 1, acceptedPerSecond: exactly(1), p99Ms: exactly(10), lagMs: exactly(1) },
    ...{ workerMb: exactly(1), cpuPerOrder: exactly(100), redisBytesPerOrder: exactly(200) },
    ...given,
  });

  test.each<[what: string, last: Partial<GrowthRow>, answers: string]>([
    ['the last orders cost what the first did', {}, 'met met met'],
    ['the CPU grows with the orders', { cpuPerOrder: exactly(200) }, 'missed met met'],
    ['the p99 grows', { p99Ms: exactly(30) }, 'met missed met'],
    ['the memory of Redis grows', { redisBytesPerOrder: exactly(400) }, 'met met missed'],
    ['a slice is as fast as before', { p99Ms: spreadOf([5, 30, 40]) }, 'met unclear met'],
  ])('when %s', (_, last, answers) => {
    const judged = flatness([row(), row(), row(last)]);
    expect(judged.map(({ answer }) => answer).join(' ')).toBe(answers);
  });

  test('is not judged by one slice', () => {
    expect(flatness([row()])).toEqual([]);
  });
});

describe('a load by the script alone', () => {
  const time: LoadMeasurement['cpu'] = byRole(() => 300);
  const bought = (answers: Record<string, number>) => ({ seconds: 2, p99Ms: 1, answers });

  test('counts what all servers took for an accepted order, without the load itself', () => {
    const servers = cpuRoles.length - 1;
    expect(figuresOfScript(bought({ accepted: 100 }), time, 100)).toEqual({
      ...{ rate: 50, p99Ms: 1, cpu: servers * 3, faults: [] },
    });
  });

  test.each<[string, Record<string, number>, number, LoadMeasurement['cpu']]>([
    ['1 unknown', { accepted: 99, unknown: 1 }, 99, time],
    ['100 orders accepted, 99 recorded', { accepted: 100 }, 99, time],
    ['100 orders accepted, 101 recorded', { accepted: 100 }, 101, time],
    ['a process ended or started', { accepted: 100 }, 100, { ...time, redis: null }],
  ])('does not count with %s', (fault, answers, recorded, used) => {
    expect(figuresOfScript(bought(answers), used, recorded).faults).toEqual([
      `by script: ${fault}`,
    ]);
  });
});

describe('a voucher in buckets', () => {
  const end = {
    ...{ oversold: 0, stranded: 0, soldOutWrongly: 0, askedToRetry: 2, transfers: 9 },
    strandedWithoutLending: 30,
  };

  test('costs nothing that fails the command, but for units and users that it got wrong', () => {
    expect(faultsOfEnd({ buckets: 2, end })).toEqual([]);
    expect(faultsOfEnd({ buckets: 2, end: { ...end, stranded: 3, soldOutWrongly: 1 } })).toEqual([
      '2 buckets, the end of stock: 3 stranded',
      '2 buckets, the end of stock: 1 soldOutWrongly',
    ]);
  });
});

describe('other work on the machine', () => {
  // user nice system idle iowait irq softirq steal guest guest_nice
  const before = machineTime('cpu  100 0 100 800 0 0 0 0 50 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n');
  const after = machineTime('cpu  150 5 120 900 10 5 5 5 90 0\n');

  test.each([
    ['is the busy time of all cores', 0, 90 / 200],
    ['is without that of the lab; the host’s part counts', 700_000, 20 / 200],
    ['is never negative', 1_000_000, 0],
  ])('%s', (_, ofApi, share) => {
    const lab: LoadMeasurement['cpu'] = { ...byRole(() => 0), api: ofApi };
    expect(otherShare(before, after, lab)).toBeCloseTo(share);
  });

  test('is unknown when the lab’s time is', () => {
    expect(otherShare(before, after, { ...cpu, api: null })).toBeNull();
  });

  test('is read from this machine', () => {
    const { busy, all } = machineTime();
    expect(busy).toBeGreaterThan(0);
    expect(all).toBeGreaterThan(busy);
  });
});

describe('the curve of the highest rate', () => {
  const step = (rate: number, p99Ms: number, isGood: boolean): SaturationStep => ({
    ...{ rate, seconds: 5, accepted: rate * 5, recorded: rate * 5, answers: {}, dropped: 0 },
    ...{ p50Ms: 1.2, p99Ms, mostMs: 1_234, reasons: [], isGood, otherWork: 0 },
    cpu: { ...cpu, api: 100, load: 250 },
  });
  const steps = [step(12_000, 20, true), step(12_000, 90.1, false), step(12_000, 30, true)];
  const textOf = (best: number | null) =>
    blocksText(
      saturationReport({
        ...{ rung: 'mutex-inside-transaction', seconds: 5, instances: 4, mostP99Ms: 50 },
        ...{ best, steps: [...steps, step(18_000, 12_345.6, false)], targets: [], faults: [] },
      }),
    );

  test('has a line for each rate, and a headline with every measurement of it', () => {
    const text = textOf(12_000);
    expect(text).toContain('sustains 12000 purchases/s: p99 30.0 ms (20.0..90.1)');
    expect(text).toContain('use 1.26 cores, and k6 uses 3.00.');
    expect(text.match(/^12000 .*2 of 3 ★$/gm)).toHaveLength(1);
    expect(text.match(/^18000 .*0 of 1$/gm)).toHaveLength(1);
  });

  test('says so when no rate is sustained', () => {
    expect(textOf(null)).toContain('sustains no rate');
    expect(textOf(null)).not.toContain('★\n');
  });
});

describe('the target of the reentrant lock', () => {
  const cost = (lock: string, rounds: number[]): LockCost => ({
    ...{ lock, rounds },
    alone: { cyclesPerSecond: rounds[0] ?? 0, p99Ms: 1 },
  });

  test.each<[answer: string, rounds: number[], ofFloor: number[]]>([
    ['met', [900, 1_800, 3_600], [1_000, 2_000, 4_000]],
    // One round meets it, and none.
    ['unclear', [900, 1_600, 3_200], [1_000, 2_000, 4_000]],
    ['missed', [800, 1_600, 3_200], [1_000, 2_000, 4_000]],
    ['unknown', [900, 1_800, 3_600], []],
  ])('is %s by %j cycles, compared with the floor of the same round: %j', (answer, ...rounds) => {
    const [ours, ofFloor] = rounds;
    const judged = lockTarget([cost(floor, ofFloor), cost('redis-reentrant', ours)]);
    expect(judged.answer).toBe(answer);
    if (answer === 'met') expect(judged.measured).toEqual(exactly(0.9));
  });
});
