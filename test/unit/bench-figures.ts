/** The figures of a load, by hand, for the tests of the benchmarks. */
import { byRole } from '../../src/lab/benchmarks/cpu-by-role.ts';
import type { LoadMeasurement } from '../../src/lab/benchmarks/measure.ts';
import { spreadOf } from '../../src/lab/benchmarks/targets.ts';

export const cpu = byRole(() => 1);

export const measured = (given: Partial<LoadMeasurement> = {}): LoadMeasurement => ({
  ...{ seconds: 100, requestsPerSecond: 1, answers: { accepted: 100 }, broken: 0 },
  ...{ p50Ms: 1, p99Ms: 1, cpu, otherWork: 0 },
  ...given,
});

export const exactly = (value: number) => spreadOf([value]);
