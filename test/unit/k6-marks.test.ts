/** The marks in the summary of a k6 script: a promise that was not measured is not kept. */
import { expect, test } from 'vitest';

interface Data {
  readonly metrics: Readonly<Record<string, object>>;
}
interface Promised {
  readonly metric: string;
  readonly audited?: boolean;
  readonly sentence: string;
  readonly isKnown?: (count: (metric: string) => number) => boolean;
  readonly numbers: (count: (metric: string) => number) => string;
}
const path = new URL('../../k6/lib/marks.js', import.meta.url).pathname;
const { markOf, promiseLine } = (await import(path)) as {
  markOf: (data: Data, metric: string) => string;
  promiseLine: (data: Data, promise: Promised, isAudited: boolean) => string;
};

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

test('a promise is marked as all its thresholds say', () => {
  expect(promiseLine(measured(0, true, true), promise, true)).toBe(
    '  ✓ nothing is oversold: 0 orders',
  );
  expect(promiseLine(measured(3, true, false), promise, true)).toBe(
    '  ✗ nothing is oversold: 3 orders',
  );
});

test('a promise without a verdict of the audit is unknown', () => {
  expect(promiseLine(measured(0, true), promise, false)).toBe('  ? nothing is oversold: 0 orders');
});

test('a promise that was not looked at to its end is unknown', () => {
  const lookedAt = {
    ...promise,
    isKnown: (count: (metric: string) => number) => count('ends') > 0,
  };
  expect(promiseLine(measured(3, false), lookedAt, true)).toContain('? nothing is oversold');
});

test('a promise whose metric is missing, or has no threshold, was not measured', () => {
  const line = '  ? nothing is oversold: not measured';
  expect(promiseLine({ metrics: {} }, promise, true)).toBe(line);
  expect(promiseLine(measured(0), promise, true)).toBe(line);
  expect(promiseLine({ metrics: { oversold: { values: { count: 0 } } } }, promise, true)).toBe(
    line,
  );
  expect(markOf({ metrics: {} }, 'oversold')).toBe('?');
});
