/** The figures of `bench buckets`, for an 80-column terminal. */
import type { BucketBenchmark, BucketRow } from '../benchmarks/bucket-benchmark.ts';
import { cpuText, faultsText, rangeText, roundsText } from './bench-text.ts';
import { plainTable } from './tables.ts';

export function bucketsText(result: BucketBenchmark): string {
  const { rows, masters, endOfStock, faults } = result;
  return [
    `lua-buckets: one hot voucher on ${masters} masters of a Redis Cluster`,
    loadTable(rows),
    `busiest     CPU microseconds of the busiest master for each accepted order
orders/s    what this master could sell with a core of its own
all         of the three masters together; api: of all instances
Compare the column "busiest": masters, instances and load share two cores, so
a second master has no core of its own, and accepted/s cannot grow.`,
    `The end of stock: ${endOfStock.stock} units, ${endOfStock.users} users at once`,
    endTable(rows),
    `stranded    units that nobody bought, although a user was told sold-out
wrongly     users who were told sold-out, although a later purchase was sold
retry       answers not-ready, while stock moved; the clients asked again
not lent    units that the same users would have left behind without transfers`,
    `Different users, one voucher with stock for all. ${roundsText(result)}`,
    faultsText(faults),
  ].join('\n\n');
}

function loadTable(rows: readonly BucketRow[]): string {
  const cells = rows.map(({ buckets, acceptedPerSecond, mastersCpu, apiCpu }) => {
    const [busiest = null] = mastersCpu;
    const medians = mastersCpu.map((spread) => spread?.median ?? Number.NaN);
    const all = medians.reduce((sum, median) => sum + median, 0);
    return [
      String(buckets),
      acceptedPerSecond.median.toFixed(0),
      rangeText(acceptedPerSecond),
      cpuText(busiest, 1),
      busiest ? rangeText(busiest, 1) : '?',
      busiest ? (1e6 / busiest.median).toFixed(0) : '?',
      Number.isNaN(all) ? '?' : all.toFixed(1),
      cpuText(apiCpu),
    ];
  });
  const head = ['buckets', 'accepted/s', 'least..most', 'busiest', 'least..most', 'orders/s'];
  return plainTable([...head, 'all', 'api'], cells);
}

function endTable(rows: readonly BucketRow[]): string {
  const cells = rows.map(({ buckets, end }) =>
    [
      ...[buckets, end.oversold, end.stranded, end.soldOutWrongly],
      ...[end.askedToRetry, end.transfers, end.strandedWithoutLending],
    ].map(String),
  );
  const head = ['buckets', 'oversold', 'stranded', 'wrongly', 'retry', 'transfers', 'not lent'];
  return plainTable(head, cells);
}
