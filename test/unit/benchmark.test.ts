/** When the figures of a benchmark count. */
import { expect, test } from 'vitest';
import {
  faultsOf,
  type Measured,
  type Round,
} from '../../src/lab/benchmarks/purchase-benchmark.ts';

const measured = (given: Partial<Measured> = {}): Measured => ({
  ...{ requestsPerSecond: 1, accepted: 100, p50Ms: 1, p99Ms: 1, refused: 0, broken: 0 },
  ...given,
});
const round = (given: Partial<Round> = {}): Round => ({
  ...{ noop: measured(), purchase: measured(), lagMs: 1, recorded: 100 },
  ...given,
});

test('figures count when every request was accepted and every order is recorded', () => {
  expect(faultsOf(round(), 8)).toEqual([]);
  expect(faultsOf(round({ recorded: 108 }), 8)).toEqual([]);
});

test.each<[string, Partial<Round>]>([
  ['a purchase was refused', { purchase: measured({ refused: 1 }) }],
  ['a no-op got no answer', { noop: measured({ broken: 1 }) }],
  ['an accepted order is not recorded', { recorded: 99 }],
  ['more is recorded than was requested', { recorded: 109 }],
])('figures do not count when %s', (_, given) => {
  expect(faultsOf(round(given), 8)).toHaveLength(1);
});
