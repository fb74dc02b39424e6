/** A consumer of an order queue that remembers what it was given. */
import type { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import type { Delivery, OrderQueue, Poison } from '../../src/service/queues/order-queue.ts';
import { wakeConsumers } from './selling.ts';

/** @returns the ids that are settled. `batch` counts from 1. */
export type Settle = (
  deliveries: readonly Delivery[],
  batch: number,
) => readonly string[] | Promise<readonly string[]>;

export const idsIn = (deliveries: readonly Delivery[]): string[] =>
  deliveries.map(({ order }) => order.id);

/** Until `end`, or the end of the test. Without `settle`, everything is settled. */
export function consume(redis: Redis, queue: OrderQueue, settle: Settle = idsIn) {
  const batches: (readonly Delivery[])[] = [];
  const poisons: Poison[] = [];
  const stop = new AbortController();
  const consuming = queue.consume(
    async (deliveries) => new Set(await settle(deliveries, batches.push(deliveries))),
    stop.signal,
    { discard: async (poison) => poisons.push(poison) > 0 },
  );
  const end = async () => {
    stop.abort();
    await wakeConsumers(redis);
    await consuming;
  };
  onTestFinished(end);
  return { batches, poisons, delivered: () => idsIn(batches.flat()), end };
}
