/** The marks of MEASUREMENT in the summary of a k6 script: how much of a load may be missing. */
import { expect, test } from 'vitest';

interface Plan {
  readonly iterations: number;
  readonly purchases?: number;
  readonly isWithFaults?: true;
}
type Thresholds = Readonly<Record<string, readonly [string]>>;

Reflect.set(globalThis, '__ENV', {}); // k6 has it.
const path = new URL('../../k6/lib/measured.js', import.meta.url).pathname;
const { measuredLines, measuredThresholds } = (await import(path)) as {
  measuredLines: (data: object, plan: Plan) => string[];
  measuredThresholds: (plan: Plan) => Thresholds;
};

/** As k6 gives it: every metric with a threshold, and whether that was met. */
function linesOf(plan: Plan, counts: Readonly<Record<string, number>>): string[] {
  const metrics = Object.fromEntries(
    Object.entries(measuredThresholds(plan)).map(([metric, [threshold]]) => {
      const count = counts[metric] ?? 0;
      const ok = count <= Number(threshold.replace('count<=', ''));
      return [metric, { values: { count }, thresholds: { [threshold]: { ok } } }];
    }),
  );
  return measuredLines({ metrics }, plan).slice(2);
}

const sameUsers: Plan = { iterations: 200, purchases: 1_600 };

test('a hundredth of the iterations and of the purchases may be missing, each of its own', () => {
  const counts = { dropped_iterations: 2, no_connection: 16, unknown: 16 };
  expect(linesOf(sameUsers, counts)).toEqual([
    '  ✓ k6 could begin its load: 2 iterations were dropped, at most 2 may be',
    '  ✓ k6 could connect: 16 requests found no connection, at most 16 may be',
    '  ✓ the answers are known: 16 outcomes are unknown, at most 16 may be',
  ]);
});

test.each([
  ['dropped_iterations', 3, '  ? k6 could begin its load: 3 iterations'],
  ['no_connection', 17, '  ? k6 could connect: 17 requests'],
  ['unknown', 17, '  ? the answers are known: 17 outcomes'],
])('one %s more is a doubt', (metric, count, line) => {
  const doubts = linesOf(sameUsers, { [metric]: count }).filter((each) => each.includes('?'));
  expect(doubts).toEqual([expect.stringContaining(line)]);
});

test('faults may keep answers away, and drop no iterations', () => {
  const plan: Plan = { iterations: 100, isWithFaults: true };
  const lines = linesOf(plan, { dropped_iterations: 2, no_connection: 90, unknown: 90 });
  expect(lines).toEqual([expect.stringContaining('? k6 could begin its load')]);
});
