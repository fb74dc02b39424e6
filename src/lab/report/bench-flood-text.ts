/** The figures of `bench flood`, for an 80-column terminal. */
import type { FloodBenchmark, FloodRow } from '../benchmarks/flood-benchmark.ts';
import { faultsText } from './bench-text.ts';
import { plainTable } from './tables.ts';

export function floodText(result: FloodBenchmark): string {
  const { rows, seconds, instances, purchasesPerSecond, floodConnections, faults } = result;
  const head = ['', 'sold/s', 'p50 ms', 'p99 ms', 'flood/s', 'refused/s'];
  const part = (isLimited: boolean) =>
    plainTable(head, rows.filter((row) => row.isLimited === isLimited).map(cellsOf), 1);
  return [
    `${purchasesPerSecond} purchases a second beside a flood from ${floodConnections} connections`,
    `Without limits\n${part(false)}`,
    `With the limits of a deployment for each address\n${part(true)}`,
    `flood/s     answers to the flood; it sends as fast as it is answered
refused/s   those of nginx: 429
Each line is ${seconds} s, with ${instances} instances. The flood runs on the same machine.`,
    faultsText(faults),
  ].join('\n\n');
}

const cellsOf = ({ flood, soldPerSecond, p50Ms, p99Ms, ...row }: FloodRow): string[] => [
  flood ?? 'no flood',
  soldPerSecond.toFixed(0),
  ...[p50Ms, p99Ms].map((ms) => ms.toFixed(1)),
  ...[row.floodPerSecond, row.refusedPerSecond].map((each) => each.toFixed(0)),
];
