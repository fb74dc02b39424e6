/** The table of `bench profile`, for an 80-column terminal. */
import type { ProfileBenchmark } from '../benchmarks/profile-benchmark.ts';
import { faultsText } from './bench-text.ts';
import { plainTable } from './tables.ts';

export function profileText(result: ProfileBenchmark): string {
  const { rung, parts, apiMicroseconds, purchases, seconds, instances, faults } = result;
  const rows = parts.map(({ part, share }) => [
    part,
    `${(100 * share).toFixed(1)}%`,
    apiMicroseconds === null ? '?' : (share * apiMicroseconds).toFixed(1),
  ]);
  const sum = apiMicroseconds?.toFixed(1) ?? '?';
  return [
    plainTable(['part of an instance', 'CPU', 'µs per purchase'], [...rows, ['sum', '', sum]]),
    `The CPU time of a purchase on ${rung} (by the kernel, all ${instances} instances, ${purchases}
purchases in ${seconds} s), divided as the samples of one instance's profile are.
The profiler itself makes a purchase dearer: for its cost, see \`npx lockstep bench\`.`,
    faultsText(faults),
  ].join('\n\n');
}
