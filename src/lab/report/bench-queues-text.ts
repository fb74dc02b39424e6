/** The figures of `bench queues`, for an 80-column terminal. */
import {
  fewestWaiting,
  overload,
  type QueueBenchmark,
  type QueueRow,
} from '../benchmarks/queue-benchmark.ts';
import { isOutsider } from '../outsiders/with-outsiders.ts';
import { faultsText, rangeText } from './bench-text.ts';
import { plainTable } from './tables.ts';

export function queuesText(result: QueueBenchmark): string {
  const { rows, bullmqPerSecond, rate, seconds, rounds, instances, faults } = result;
  const head = ['queue', 'accepted/s', 'recorded/s', 'waiting', 'least..most', 'drained s'];
  return [
    `The load: ${rate} purchases/s, ${overload} times what BullMQ records (${bullmqPerSecond.toFixed(0)}/s)`,
    plainTable([...head, 'drain/s'], rows.map(row)),
    `recorded/s  into MySQL, while the purchases came
waiting     accepted orders that were not in MySQL when the last purchase was
            answered
drained s   from then until MySQL had all of them
drain/s     of this backlog (– below ${fewestWaiting} orders: such a queue keeps up)
*           no rung: an outsider
Medians of ${rounds} rounds of ${seconds} s in turns. Different users, one voucher with
stock for all, ${instances} instances behind one nginx, order workers running.`,
    faultsText(faults),
  ].join('\n\n');
}

function row({ rung, waiting, drainSeconds, drainedPerSecond, ...rates }: QueueRow): string[] {
  const { acceptedPerSecond, recordedPerSecond } = rates;
  return [
    isOutsider(rung) ? `${rung} *` : rung,
    ...[acceptedPerSecond, recordedPerSecond, waiting].map(({ median }) => median.toFixed(0)),
    ...[rangeText(waiting), drainSeconds.median.toFixed(1)],
    drainedPerSecond?.median.toFixed(0) ?? '–',
  ];
}
