/** The answers in the summary of a k6 script: is a part of the load as fast as another one? */
import { expect, test } from 'vitest';

Reflect.set(globalThis, '__ENV', {}); // k6 has it.
const path = new URL('../../k6/lib/latency.js', import.meta.url).pathname;
const { asFastLine, risesLine } = (await import(path)) as {
  asFastLine: (data: object, sentence: string, part: string, than: string) => string[];
  risesLine: (data: object, parts: readonly string[], names: readonly string[]) => string[];
};

/** By the part of the load; 0: nothing was measured. */
const dataOf = (latencies: Readonly<Record<string, number>>) => ({
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
  const [line] = asFastLine(dataOf({ before, after }), 'it is as fast', 'after', 'before');
  expect(line).toMatch(`  ${mark} it is as fast: p95 `);
});

test('the rate at which the p99 rises is that of the first slow part', () => {
  const names = ['10/s', '20/s', '30/s'];
  const of = (...latencies: readonly number[]) =>
    risesLine(dataOf(Object.fromEntries(latencies.entries())), ['0', '1', '2'], names);
  expect(of(40, 90, 91)).toEqual(['  · the p99 rises at 30/s: 91 ms; it is 40 ms at 10/s']);
  expect(of(40, 41, 42)).toEqual(['  ✓ the p99 does not rise up to 30/s; it is 40 ms at 10/s']);
  expect(of(40, 500, 0)).toEqual(['  ? a part was not measured']);
});
