/** The marks of MEASUREMENT in the summary of a k6 script: how much of a load may be missing. */
import { expect, test } from 'vitest';

interface Plan {
  readonly iterations: number;
  readonly purchases?: number;
  readonly isWithFaults?: true;
}
type Counts = Readonly<Record<string, number>>;
type Thresholds = Readonly<Record<string, readonly [string]>>;

Reflect.set(globalThis, '__ENV', {}); // k6 has it.
const path = new URL('../../k6/lib/measured.js', import.meta.url).pathname;
const { iterationsOf, measuredLines, measuredThresholds, planOfPart } = (await import(path)) as {
  iterationsOf: (data: object, plan: Plan) => object;
  measuredLines: (data: object, plan: Plan) => string[];
  measuredThresholds: (plan: Plan) => Thresholds;
  planOfPart: (plan: Plan, part: string) => Plan;
};

const dataOf = (counts: Counts) => ({
  metrics: Object.fromEntries(
    Object.entries(counts).map(([metric, count]) => [metric, { values: { count } }]),
  ),
});
const linesOf = (plan: Plan, counts: Counts): string[] =>
  measuredLines(dataOf(counts), plan).slice(2);

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
  expect(iterationsOf(dataOf(counts), sameUsers)).toMatchObject({ planned: 200, isInterrupted });
});

test.each([
  ['0:1/2', 100, 800],
  ['3/4:1', 50, 400],
  ['0.25:0.5', 50, 400],
  ['10%', 20, 160],
])('the part %s of a load has its share of the plan', (part, iterations, purchases) => {
  expect(planOfPart(sameUsers, part)).toEqual({ iterations, purchases });
});
