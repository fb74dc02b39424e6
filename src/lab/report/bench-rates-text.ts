/** The figures of `bench rates`, for an 80-column terminal. */
import type { RateBenchmark, RateRow } from '../benchmarks/rate-benchmark.ts';
import { faultsText, otherWorkText } from './bench-text.ts';
import { plainTable } from './tables.ts';

const roles = ['load', 'nginx', 'api', 'redis', 'worker', 'database'] as const;

export function ratesText(result: RateBenchmark): string {
  const { rows, seconds, connections, instances, otherWork, faults } = result;
  const head = ['purchases/s', '', 'p50 ms', 'p99 ms', ...roles];
  return [
    'What a purchase costs at a low rate, and in the first seconds of an instance',
    plainTable(head, rows.map(cellsOf), 2),
    `load … database  CPU microseconds per purchase, by process (kernel accounting)
cold   the instances have just started: the first ${seconds} s of their life
full   a closed model: as many as the service sells, ${connections} at once
Each line is ${seconds} s on a voucher of its own, through nginx, with ${instances} instances.
Latency counts from the time at which a purchase was due.
${otherWorkText(otherWork)}`,
    faultsText(faults),
  ].join('\n\n');
}

const cellsOf = ({ rate, isCold, isClosed, p50Ms, p99Ms, cpu }: RateRow): string[] => [
  rate.toFixed(0),
  isClosed ? 'full' : isCold ? 'cold' : 'warm',
  ...[p50Ms, p99Ms].map((ms) => ms.toFixed(1)),
  ...roles.map((role) => cpu[role]?.toFixed(0) ?? '?'),
];
