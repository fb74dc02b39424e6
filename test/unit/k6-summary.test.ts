/**
 * The lines in the summary of a k6 script: a promise that was not measured is not kept, how much of
 * a load may be missing, and whether a part of the load is as fast as another one.
 */
import { describe, expect, test } from 'vitest';

type Data = { readonly metrics: Readonly<Record<string, object>> };
interface Promised {
  readonly metric: string;
  readonly audited?: boolean;
  readonly sentence: string;
  readonly isKnown?: (count: (metric: string) => number) => boolean;
  readonly numbers: (count: (metric: string) => number) => string;
}
interface Plan {
  readonly iterations: number;
  readonly purchases?: number;
  readonly isWithFaults?: true;
}
type Counts = Readonly<Record<string, number>>;
/** What these tests call of k6/lib/, which is JavaScript. */
interface Lib {
  asFastLine(data: Data, sentence: string, part: string, than: string): string[];
  risesLine(data: Data, parts: readonly string[], names: readonly string[]): string[];
  markOf(data: Data, metric: string): string;
  promiseLine(data: Data, promise: Promised, isAudited: boolean): string;
  iterationsOf(data: Data, plan: Plan): object;
  measuredLines(data: Data, plan: Plan): string[];
  measuredThresholds(plan: Plan): Readonly<Record<string, readonly [string]>>;
  planOfPart(plan: Plan, part: string): Plan;
}

Reflect.set(globalThis, '__ENV', {}); // k6 has it.
const load = (name: string) => import(new URL(`../../k6/lib/${name}.js`, import.meta.url).pathname);
const modules = await Promise.all(['latency', 'marks', 'measured'].map(load));
const lib: Lib = Object.assign({}, ...modules);
const { asFastLine, risesLine, markOf, promiseLine } = lib;
const { iterationsOf, measuredLines, measuredThresholds, planOfPart } = lib;

const measured = (count: number, ...met: boolean[]): Data => ({
  metrics: {
    oversold: {
      values: { count },
      thresholds: Object.fromEntries(met.map((ok, index) => [`threshold ${index}`, { ok }])),
    },
  },
});
const promise: Promised = {
  metric: 'oversold',
  audited: true,
  sentence: 'nothing is oversold',
  numbers: (count) => `${count('oversold')} orders`,
};

describe('a promise', () => {
  test.each([
    ['✓', 'all its thresholds are met', measured(0, true, true), true],
    ['✗', 'one of its thresholds is not met', measured(3, true, false), true],
    ['?', 'the audit has no verdict', measured(0, true), false],
  ])('is marked %s when %s', (mark, _, data, isAudited) => {
    const { count } = (data.metrics['oversold'] as { values: { count: number } }).values;
    const line = `  ${mark} nothing is oversold: ${count} orders`;
    expect(promiseLine(data, promise, isAudited)).toBe(line);
  });

  test('that was not looked at to its end is unknown', () => {
    const lookedAt: Promised = { ...promise, isKnown: (count) => count('ends') > 0 };
    expect(promiseLine(measured(3, false), lookedAt, true)).toContain('? nothing is oversold');
  });

  test.each<Data>([
    { metrics: {} },
    measured(0),
    { metrics: { oversold: { values: { count: 0 } } } },
  ])('whose metric is missing, or has no threshold, was not measured: %j', (data) => {
    const line = '  ? nothing is oversold: not measured';
    expect(promiseLine(data, promise, true)).toBe(line);
    expect(markOf(data, 'oversold')).toBe('?');
  });
});

const countsOf = (counts: Counts) => ({
  metrics: Object.fromEntries(
    Object.entries(counts).map(([metric, count]) => [metric, { values: { count } }]),
  ),
});
const linesOf = (plan: Plan, counts: Counts): string[] =>
  measuredLines(countsOf(counts), plan).slice(2);

const sameUsers: Plan = { iterations: 200, purchases: 1_600 };
const good: Counts = {
  ...{ iterations_begun: 198, iterations_ended: 196, dropped_iterations: 2 },
  ...{ no_connection: 16, unknown: 16 },
};

test('a hundredth of the iterations and of the purchases may be missing, each of its own', () => {
  expect(linesOf(sameUsers, good)).toEqual([
    '  ✓ the load was sent: 198 of 200 iterations begun, 2 dropped',
    '  ✓ what was begun has ended: 2 iterations were interrupted',
    '  ✓ k6 could connect: 16 found no connection',
    '  ✓ the answers are known: 16 outcomes are unknown',
  ]);
});

test.each([
  ['iterations_begun', 197, '  ? the load was sent: 197 of 200 iterations begun'],
  ['iterations_ended', 195, '  ? what was begun has ended: 3 iterations'],
  ['no_connection', 17, '  ? k6 could connect: 17'],
  ['unknown', 17, '  ? the answers are known: 17 outcomes'],
])('%s %d is a doubt', (metric, count, line) => {
  const counts = { ...good, iterations_ended: 195, [metric]: count };
  if (metric !== 'iterations_ended')
    counts.iterations_ended = (counts['iterations_begun'] ?? 0) - 2;
  const doubts = linesOf(sameUsers, counts).filter((each) => each.includes('?'));
  expect(doubts).toEqual([expect.stringContaining(line)]);
});

test('what was dropped beyond the plan is not missing', () => {
  const counts = { iterations_begun: 200, iterations_ended: 200, dropped_iterations: 28 };
  expect(linesOf(sameUsers, counts)[0]).toContain('200 of 200 iterations begun, 0 dropped');
});

test('k6 alone has the same limits as thresholds', () => {
  expect(measuredThresholds(sameUsers)).toEqual({
    iterations_begun: ['count>=198'],
    ...{ no_connection: ['count<=16'], unknown: ['count<=16'] },
  });
});

test('faults may keep answers away, and no iterations', () => {
  const plan: Plan = { iterations: 100, isWithFaults: true };
  const counts = { iterations_begun: 98, iterations_ended: 98, no_connection: 90, unknown: 90 };
  const doubts = linesOf(plan, counts).filter((each) => each.includes('?'));
  expect(doubts).toEqual([expect.stringContaining('? the load was sent: 98 of 100')]);
});

test.each([
  ['all was begun, and has ended', { iterations_begun: 200, iterations_ended: 200 }, false],
  ['some were dropped', { ...good, iterations_ended: 198, dropped_iterations: 2 }, false],
  [
    'many were dropped',
    { iterations_begun: 9, iterations_ended: 9, dropped_iterations: 191 },
    false,
  ],
  ['it was stopped before all had begun', { iterations_begun: 80, iterations_ended: 80 }, true],
  ['one iteration did not end', { iterations_begun: 200, iterations_ended: 199 }, true],
])('a load of which %s', (_, counts, isInterrupted) => {
  expect(iterationsOf(countsOf(counts), sameUsers)).toMatchObject({ planned: 200, isInterrupted });
});

test.each([
  ['0:1/2', 100, 800],
  ['3/4:1', 50, 400],
  ['0.25:0.5', 50, 400],
  ['10%', 20, 160],
])('the part %s of a load has its share of the plan', (part, iterations, purchases) => {
  expect(planOfPart(sameUsers, part)).toEqual({ iterations, purchases });
});

/** By the part of the load; 0: nothing was measured. */
const latenciesOf = (latencies: Readonly<Record<string, number>>) => ({
  metrics: Object.fromEntries(
    Object.entries(latencies).map(([part, ms]) => [
      `purchase_latency{part:${part}}`,
      { values: { 'p(95)': ms, 'p(99)': ms, max: ms } },
    ]),
  ),
});

test.each([
  ['✓', 100, 200],
  ['✗', 100, 201],
  ['✓', 5, 55],
  ['✗', 5, 56],
  ['?', 0, 56],
  ['?', 5, 0],
])('%s when %d ms became %d ms', (mark, before, after) => {
  const [line] = asFastLine(latenciesOf({ before, after }), 'it is as fast', 'after', 'before');
  expect(line).toMatch(`  ${mark} it is as fast: p95 `);
});

test('the rate at which the p99 rises is that of the first slow part', () => {
  const names = ['10/s', '20/s', '30/s'];
  const of = (...latencies: readonly number[]) =>
    risesLine(latenciesOf(Object.fromEntries(latencies.entries())), ['0', '1', '2'], names);
  expect(of(40, 90, 91)).toEqual(['  · the p99 rises at 30/s: 91 ms; it is 40 ms at 10/s']);
  expect(of(40, 41, 42)).toEqual(['  ✓ the p99 does not rise up to 30/s; it is 40 ms at 10/s']);
  expect(of(40, 500, 0)).toEqual(['  ? a part was not measured']);
});
