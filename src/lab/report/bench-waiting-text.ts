/** The figures of `bench waiting`, for an 80-column terminal. */
import type { WaitingBenchmark, WaitingRow } from '../benchmarks/waiting-benchmark.ts';
import { faultsText } from './bench-text.ts';
import { plainTable } from './tables.ts';

export function waitingText(result: WaitingBenchmark): string {
  const { rung, rows, seconds, passesAtOnce, instances, faults } = result;
  const head = ['', 'users/s', 'users', 'sold/s', 'waiting', 'p50 ms', 'p99 ms', 'inversions'];
  return [
    `A rush on a sale of ${rung}, with a waiting room and without one`,
    plainTable(head, rows.map(cellsOf), 1),
    `p50, p99     of a purchase, from when it is due; of every answer, also a refusal
waiting      users who had no turn yet when the last one had come
inversions   users who asked after another one was answered, with an earlier place
Through nginx, with ${instances} instances and ${passesAtOnce} passes at once. The first
and the last line are ${seconds} s each. Without a waiting room, everybody buys at once;
with it, about a second after the pass.`,
    ...refusedTexts(rows),
    faultsText(faults),
  ].join('\n\n');
}

const cellsOf = (row: WaitingRow): string[] => [
  row.name,
  ...[row.usersPerSecond, row.users, row.soldPerSecond, row.waiting].map((each) => each.toFixed(0)),
  ...[row.p50Ms, row.p99Ms].map((ms) => ms.toFixed(1)),
  String(row.inversions),
];

/** Nothing when every answer was `accepted`. */
function refusedTexts(rows: readonly WaitingRow[]): string[] {
  const lines = rows.flatMap(({ name, answers: { accepted: _, ...refused } }) =>
    Object.entries(refused).map(([code, count]) => `${name}: ${count} answers ${code}`),
  );
  return lines.length > 0 ? [lines.join('\n')] : [];
}
