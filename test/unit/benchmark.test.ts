/** When the figures of a benchmark count, and when a target is missed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { faultsOfEnd } from '../../src/lab/benchmarks/bucket-benchmark.ts';
import { cpuRoles } from '../../src/lab/benchmarks/cpu-by-role.ts';
import { faultsOfSale, legitimateRefusals } from '../../src/lab/benchmarks/faults-of-figures.ts';
import { flatness, type GrowthRow, marksUpTo } from '../../src/lab/benchmarks/growth-benchmark.ts';
import { type LockCost, lockTarget } from '../../src/lab/benchmarks/lock-benchmark.ts';
import { floor } from '../../src/lab/benchmarks/lock-cycles.ts';
import type { Measured, MeasuredSale } from '../../src/lab/benchmarks/measure.ts';
import { machineTime, otherShare } from '../../src/lab/benchmarks/other-work.ts';
import {
  faultsOfRound,
  type Round,
  reachableRatio,
} from '../../src/lab/benchmarks/purchase-benchmark.ts';
import { readRecordedFigures } from '../../src/lab/benchmarks/recorded-figures.ts';
import { isCorrectOrderByOrder } from '../../src/lab/benchmarks/rung-benchmark.ts';
import {
  faultsOfStep,
  reasonsAgainst,
  type SaturationStep,
} from '../../src/lab/benchmarks/saturation.ts';
import { figuresOfScript } from '../../src/lab/benchmarks/script-buyer.ts';
import { type RateLimits, searchRate } from '../../src/lab/benchmarks/search-rate.ts';
import { spreadOf, spreadOfKnown } from '../../src/lab/benchmarks/spread.ts';
import { fallen, judgeTarget } from '../../src/lab/benchmarks/targets.ts';
import { bucketsText } from '../../src/lab/report/bench-buckets-text.ts';
import { saturationText } from '../../src/lab/report/bench-saturation-text.ts';
import { ladder, rungNames } from '../../src/ladder/rungs.ts';

const cpu = Object.fromEntries(cpuRoles.map((role) => [role, 1])) as Measured['cpu'];
const measured = (given: Partial<Measured> = {}): Measured => ({
  seconds: 100,
  ...{
    requestsPerSecond: 1,
    answers: { accepted: 100 },
    broken: 0,
    p50Ms: 1,
    p99Ms: 1,
    cpu,
    otherWork: 0,
  },
  ...given,
});
const sale = (given: Partial<MeasuredSale> = {}): MeasuredSale => ({
  ...{ voucherId: '1', purchase: measured(), accepted: 100, acceptedPerSecond: 1 },
  ...{ recorded: 100, recordedPerSecond: 1, lagMs: 1, deepest: 1 },
  ...given,
});

describe('the figures of a sale count', () => {
  test('when every request was accepted and every order is recorded', () => {
    expect(faultsOfSale('lua-stream', sale(), 8)).toEqual([]);
    expect(faultsOfSale('lua-stream', sale({ recorded: 108 }), 8)).toEqual([]);
  });

  test.each<[string, Partial<MeasuredSale>]>([
    ['a purchase was refused', { purchase: measured({ answers: { accepted: 100, busy: 1 } }) }],
    ['all were refused, fast', { purchase: measured({ answers: { accepted: 0 } }) }],
    ['a purchase got no answer', { purchase: measured({ broken: 1 }) }],
    ['an accepted order is not recorded', { recorded: 99 }],
    ['more is recorded than was requested', { recorded: 109 }],
    ['a process was replaced', { purchase: measured({ cpu: { ...cpu, api: null } }) }],
  ])('not when %s', (_, given) => {
    expect(faultsOfSale('lua-stream', sale(given), 8)).toHaveLength(1);
  });

  test('with the refusals that a rung may give, and with no others', () => {
    const lost = measured({ answers: { accepted: 100, conflict: 900 } });
    expect(faultsOfSale('version-check', sale({ purchase: lost }), 8)).toEqual([]);
    expect(faultsOfSale('redis-no-retry', sale({ purchase: lost }), 8)).toHaveLength(1);
    const soldOut = measured({ answers: { accepted: 100, 'sold-out': 1 } });
    expect(faultsOfSale('version-check', sale({ purchase: soldOut }), 8)).toHaveLength(1);
  });

  test('of the final rung only without a refusal: it has no lock to be busy', () => {
    expect(legitimateRefusals(ladder['lua-stream'])).toEqual([]);
    expect(legitimateRefusals(ladder['redis-no-retry'])).toContain('busy');
  });
});

describe('the figures of a round count', () => {
  const soldOut = measured({ answers: { 'sold-out': 100 } });
  const requests = {
    ...{ nginx: measured(), node: measured(), bare: measured() },
    ...{ noop: measured(), purchase: measured() },
    'sold-out': soldOut,
  };
  const round = (given: Partial<Round['requests']> = {}): Round => ({
    requests: { ...requests, ...given },
    sale: sale(),
  });

  test('when every answer is the expected one', () => {
    expect(faultsOfRound(round(), 8)).toEqual([]);
  });

  test.each<[string, Partial<Round['requests']>]>([
    ['a no-op was refused', { noop: measured({ answers: { accepted: 9, unauthenticated: 1 } }) }],
    ['nginx did not answer', { nginx: measured({ answers: {} }) }],
    ['bare node:http did not answer', { node: measured({ answers: {} }) }],
    ['the bare route is not there', { bare: measured({ answers: { 'not-ready': 100 } }) }],
    [
      'a sold-out voucher was sold',
      { 'sold-out': measured({ answers: { 'sold-out': 9, accepted: 1 } }) },
    ],
    ['a refusal has another reason', { 'sold-out': measured({ answers: { 'not-ready': 9 } }) }],
  ])('not when %s', (_, given) => {
    expect(faultsOfRound(round(given), 8)).not.toEqual([]);
  });
});

describe('the ratio that a purchase could reach', () => {
  const cpuOf = (times: Partial<Record<(typeof cpuRoles)[number], number | null>>) => {
    const spread = (time: number | null = 0) => (time === null ? null : spreadOf([time]));
    const all = cpuRoles.map((role) => [role, spread(times[role])] as const);
    return {
      cpu: Object.fromEntries(all) as Record<(typeof cpuRoles)[number], (typeof all)[0][1]>,
    };
  };
  const bare = cpuOf({ load: 20, nginx: 20, api: 60 });

  test('leaves out what the API itself could save', () => {
    const purchase = cpuOf({ load: 90, nginx: 90, api: 900, redis: 15, worker: 8, database: 2 });
    expect(reachableRatio({ bare, purchase })).toBe(0.8);
  });

  test('is unknown when a process ended meanwhile', () => {
    expect(reachableRatio({ bare, purchase: cpuOf({ redis: null }) })).toBeNull();
  });
});

describe('a target', () => {
  const least = { name: 'ratio', atLeast: 0.6, because: 'a reason' };
  const most = { name: 'lag', atMost: 3, because: 'a reason' };

  test('is met by the median', () => {
    expect(judgeTarget(least, spreadOf([0.5, 0.6, 0.7]), 3).answer).toBe('met');
    expect(judgeTarget(most, spreadOf([1, 3, 9]), 3).answer).toBe('met');
  });

  test('is missed by more than the spread when no round meets it', () => {
    expect(judgeTarget(least, spreadOf([0.4, 0.5, 0.59]), 3).answer).toBe('missed');
    expect(judgeTarget(most, spreadOf([3.1, 4]), 2).answer).toBe('missed');
    expect(judgeTarget(least, spreadOf([0.4, 0.5, 0.7]), 3).answer).toBe('unclear');
    expect(judgeTarget(most, spreadOf([2, 4, 5]), 3).answer).toBe('unclear');
  });

  test('fails a gate only when no round is as good as the worst one of the recorded run', () => {
    const now = (target: typeof least | typeof most, ...rounds: number[]) =>
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
    const folder = mkdtempSync(join(tmpdir(), 'lockstep-bench-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'bench.json');
    const targets = [judgeTarget(least, spreadOf([0.5, 0.6]), 2), judgeTarget(most, null, 2)];
    writeFileSync(file, JSON.stringify({ targets, seconds: 1 }));
    expect(readRecordedFigures(file)).toEqual(new Map([['ratio', spreadOf([0.5, 0.6])]]));
    writeFileSync(file, '{}');
    expect(() => readRecordedFigures(file)).toThrow(/name the bench.json/);
    expect(() => readRecordedFigures(join(folder, 'none'))).toThrow(/name the bench.json/);
  });

  test('is not judged on one round, which has no spread, and not without a figure', () => {
    expect(judgeTarget(least, spreadOf([0.1]), 1).answer).toBe('unknown');
    expect(judgeTarget(least, null, 5).answer).toBe('unknown');
  });
});

describe('a spread', () => {
  test('has the median, also of an even number of rounds', () => {
    expect(spreadOf([3, 1, 2])).toEqual({ median: 2, least: 1, most: 3 });
    expect(spreadOf([4, 1, 2, 3]).median).toBe(2.5);
  });

  test('is never made of what is no number', () => {
    expect(() => spreadOf([1, Number.NaN])).toThrow(RangeError);
    expect(() => spreadOf([])).toThrow(RangeError);
    for (const unknown of [null, Number.NaN, Number.POSITIVE_INFINITY])
      expect(spreadOfKnown([1, unknown])).toBeNull();
    expect(spreadOfKnown([])).toBeNull();
  });
});

describe('the rungs that a queue is compared with', () => {
  test('write order by order, and no rush breaks them', () => {
    const names = rungNames.filter(isCorrectOrderByOrder);
    expect(names).toEqual(expect.arrayContaining(['stock-positive', 'row-lock', 'redis-atomic']));
    for (const wrong of ['read-then-write', 'check-then-insert', 'mutex-per-user', 'lua-stream'])
      expect(names).not.toContain(wrong);
  });
});

describe('the search for the highest rate', () => {
  const limits = { first: 100, least: 10, most: 10_000 };
  /** A service that sustains `knee`; the answers to `hiccups` are wrong. */
  function search(knee: number, hiccups: readonly number[] = [], more: Partial<RateLimits> = {}) {
    let count = 0;
    const measure = async (rate: number) => {
      count += 1;
      return { rate, isGood: rate <= knee !== hiccups.includes(count) };
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
    const { best } = await search(30);
    expect(best).toBeLessThanOrEqual(30);
    expect((await search(5)).best).toBeNull();
  });

  test('ends at the most, and where no whole rate is between', async () => {
    expect((await search(1e9, [], { most: 500 })).best).toBeLessThanOrEqual(500);
    expect((await search(3, [], { first: 4, least: 1 })).best).toBe(3);
  });

  const allHiccups = Array.from({ length: 30 }, (_, index) => [index + 1]);

  test.each(allHiccups)('is not misled by one hiccup or one lucky measurement: %i', async (at) => {
    const { best, steps } = await search(1_000, [at]);
    expect(best).toBe((await search(1_000)).best);
    const goodOnes = steps.filter(({ rate, isGood }) => rate === best && isGood);
    expect(goodOnes).toHaveLength(2);
  });
});

describe('a rate is not sustained', () => {
  const k6 = { answers: { accepted: 500 }, dropped: 0, p99Ms: 50 };

  test('unless everything that was due was sent, accepted and answered soon', () => {
    expect(reasonsAgainst(k6, 500)).toEqual([]);
  });

  test.each([
    ['when an iteration was dropped', { dropped: 1 }],
    ['when a hundredth was not sent', { answers: { accepted: 490 } }],
    ['when the p99 is too high', { p99Ms: 50.1 }],
    ['when the p99 is no number', { p99Ms: Number.NaN }],
    ['when a purchase was refused', { answers: { accepted: 499, 'not-ready': 1 } }],
    ['when an outcome is unknown', { answers: { accepted: 499, unknown: 1 } }],
  ])('%s', (_, given) => {
    expect(reasonsAgainst({ ...k6, ...given }, 500)).toHaveLength(1);
  });

  test('and the figures do not count when an accepted order is not recorded', () => {
    const step = { rate: 100, answers: { accepted: 500, unknown: 2 }, accepted: 500 };
    for (const recorded of [500, 502]) expect(faultsOfStep({ ...step, recorded })).toEqual([]);
    for (const recorded of [499, 503]) expect(faultsOfStep({ ...step, recorded })).toHaveLength(1);
    const soldOut = { ...step, answers: { accepted: 500, 'sold-out': 1 }, recorded: 500 };
    expect(faultsOfStep(soldOut)).toHaveLength(1);
  });
});

describe('the growth of a voucher', () => {
  test('is shown at 1, 2 and 5 times each power of ten, and at the last order', () => {
    expect(marksUpTo(10_000)).toEqual([10_000]);
    expect(marksUpTo(60_000)).toEqual([10_000, 20_000, 50_000, 60_000]);
    expect(marksUpTo(1_000_000)).toHaveLength(7);
  });

  const exactly = (value: number) => spreadOf([value]);
  const row = (given: Partial<GrowthRow> = {}): GrowthRow => ({
    ...{ orders: 1, acceptedPerSecond: exactly(1), p99Ms: exactly(10), lagMs: exactly(1) },
    workerMb: exactly(1),
    ...{ cpuPerOrder: exactly(100), redisBytesPerOrder: exactly(200) },
    ...given,
  });
  const answers = (last: Partial<GrowthRow>) =>
    flatness([row(), row(), row(last)]).map(({ answer }) => answer);

  test('is flat when the last orders cost what the first did', () => {
    expect(answers({})).toEqual(['met', 'met', 'met']);
    expect(flatness([row()])).toEqual([]);
  });

  test.each<[string, Partial<GrowthRow>]>([
    ['the CPU', { cpuPerOrder: exactly(200) }],
    ['the p99', { p99Ms: exactly(30) }],
    ['the memory of Redis', { redisBytesPerOrder: exactly(400) }],
  ])('is not flat when %s grows with the orders', (_, last) => {
    expect(answers(last).filter((answer) => answer === 'missed')).toHaveLength(1);
  });

  test('is unclear when the slices are further apart than the growth', () => {
    expect(answers({ p99Ms: spreadOf([5, 30, 40]) })).toEqual(['met', 'unclear', 'met']);
  });
});

describe('a load by the script alone', () => {
  const time = Object.fromEntries(cpuRoles.map((role) => [role, 300])) as Measured['cpu'];
  const bought = (answers: Record<string, number>) => ({ seconds: 2, p99Ms: 1, answers });

  test('counts what all servers took for an accepted order, without the load itself', () => {
    const servers = cpuRoles.length - 1;
    expect(figuresOfScript(bought({ accepted: 100 }), time, 100)).toEqual({
      ...{ rate: 50, p99Ms: 1, cpu: servers * 3, faults: [] },
    });
  });

  test.each<[string, Record<string, number>, number, Measured['cpu']]>([
    ['1 unknown', { accepted: 99, unknown: 1 }, 99, time],
    ['100 orders accepted, 99 recorded', { accepted: 100 }, 99, time],
    ['100 orders accepted, 101 recorded', { accepted: 100 }, 101, time],
    ['a process ended or started', { accepted: 100 }, 100, { ...time, redis: null }],
  ])('does not count with %s', (fault, answers, recorded, cpu) => {
    expect(figuresOfScript(bought(answers), cpu, recorded).faults).toEqual([`by script: ${fault}`]);
  });
});

describe('a voucher in buckets', () => {
  const end = {
    ...{ oversold: 0, stranded: 0, soldOutWrongly: 0, askedToRetry: 2, transfers: 9 },
    strandedWithoutLending: 30,
  };
  const spread = { median: 23_456.7, least: 12_345.6, most: 34_567.8 };
  const cpu = { median: 123.4, least: 101.2, most: 156.7 };
  const row = (buckets: number) => ({
    ...{ buckets, acceptedPerSecond: spread, mastersCpu: [cpu, cpu, cpu], apiCpu: cpu, end },
  });

  test('costs nothing that fails the command, but for units and users that it got wrong', () => {
    expect(faultsOfEnd(row(2))).toEqual([]);
    expect(faultsOfEnd({ buckets: 2, end: { ...end, stranded: 3, soldOutWrongly: 1 } })).toEqual([
      '2 buckets, the end of stock: 3 stranded',
      '2 buckets, the end of stock: 1 soldOutWrongly',
    ]);
  });

  test('is shown in 80 columns', () => {
    const text = bucketsText({
      ...{ seconds: 4, connections: 128, rounds: 5, instances: 4, masters: 3, otherWork: cpu },
      ...{ endOfStock: { stock: 1_200, users: 1_320 }, rows: [1, 2, 3, 4].map(row) },
      ...{ targets: [], faults: [] },
    });
    expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });
});

describe('other work on the machine', () => {
  // user nice system idle iowait irq softirq steal guest guest_nice
  const before = machineTime('cpu  100 0 100 800 0 0 0 0 50 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n');
  const after = machineTime('cpu  150 5 120 900 10 5 5 5 90 0\n');
  const none = Object.fromEntries(cpuRoles.map((role) => [role, 0])) as Measured['cpu'];

  test('is the busy time of all cores without that of the lab; the host’s part counts', () => {
    expect(otherShare(before, after, none)).toBeCloseTo(90 / 200);
    expect(otherShare(before, after, { ...none, api: 700_000 })).toBeCloseTo(20 / 200);
  });

  test('is never negative, and unknown when the lab’s time is', () => {
    expect(otherShare(before, after, { ...none, api: 1_000_000 })).toBe(0);
    expect(otherShare(before, after, { ...none, api: null })).toBeNull();
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
    saturationText({
      ...{ rung: 'mutex-inside-transaction', seconds: 5, instances: 4, mostP99Ms: 50 },
      ...{ best, steps: [...steps, step(18_000, 12_345.6, false)], targets: [], faults: [] },
    });

  test('has a line for each rate, and a headline with every measurement of it', () => {
    const text = textOf(12_000);
    expect(text).toContain('sustains 12000 purchases/s: p99 30.0 ms (20.0..90.1)');
    expect(text).toContain('use 1.26 cores, and k6 uses 3.00.');
    expect(text.match(/^12000 .*2 of 3 ★$/gm)).toHaveLength(1);
    expect(text.match(/^18000 .*0 of 1$/gm)).toHaveLength(1);
    expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
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
  const judged = (rounds: number[], ofFloor = [1_000, 2_000, 4_000]) =>
    lockTarget([cost(floor, ofFloor), cost('redis-reentrant', rounds)]);

  test('compares it with the floor of the same round', () => {
    expect(judged([900, 1_800, 3_600])).toMatchObject({
      ...{ answer: 'met', measured: { median: 0.9, least: 0.9, most: 0.9 } },
    });
  });

  test('is missed by less than the spread when a round meets it', () => {
    expect(judged([900, 1_600, 3_200]).answer).toBe('unclear');
    expect(judged([800, 1_600, 3_200]).answer).toBe('missed');
  });

  test('is unknown without the floor', () => {
    expect(judged([900, 1_800, 3_600], []).answer).toBe('unknown');
  });
});
