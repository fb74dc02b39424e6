/** What the order workers of this process did with the orders that were delivered to them. */
import { Counter, Histogram } from '@prometheus-io/client';
import { registers } from './registry.ts';

const orders = new Counter({
  name: 'lockstep_orders_settled_total',
  help: 'Orders that were recorded in MySQL or dead-lettered, by result; none because of a repeated delivery',
  registers,
  labelNames: ['result'],
});
const batches = new Histogram({
  name: 'lockstep_batch_orders',
  help: 'How many orders were delivered together',
  registers,
  buckets: [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000],
});
const batchSeconds = new Histogram({
  name: 'lockstep_batch_seconds',
  help: 'How long a batch took, from its delivery until its orders were settled',
  registers,
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
});

/** @param result `recorded`, or the reason of the dead letter */
export const countSettled = (result: string, count = 1): void => orders.inc({ result }, count);

export function observeBatch(size: number, ms: number): void {
  batches.observe(size);
  batchSeconds.observe(ms / 1_000);
}
