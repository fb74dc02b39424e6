/**
 * Idea. A list in the memory of the instance that sold, with a bound. A consumer in the same
 *   process records its orders.
 * Holds while. The process lives. A full list refuses before stock is taken. At a stop in order,
 *   the list is finished first.
 * Breaks when. The process is killed: clients were told `accepted`, and every order that waited is
 *   gone, with its stock.
 * Source. The course notes' ArrayBlockingQueue of 1024 × 1024, whose `add` throws when it is full,
 *   after the stock is taken.
 */

import type { Order } from '../domain.ts';
import { serviceError } from '../errors.ts';
import type { OrderQueue } from './order-queue.ts';
import { type DeliverOptions, deliverFrom, type Source, WakeUp } from './shared/deliver.ts';
import type { Entry } from './shared/order-fields.ts';

export interface MemoryOptions extends DeliverOptions {
  /** Most orders that wait. */
  readonly limit: number;
}

const waitMs = 500;

export function memoryQueue({ limit, ...options }: MemoryOptions): OrderQueue {
  const waiting: Order[] = [];
  let reserved = 0;
  let inHand = 0;
  const arrival = new WakeUp();

  function reserve() {
    if (waiting.length + reserved >= limit) return 'queue-full';
    reserved += 1;
    return () => {
      reserved -= 1;
    };
  }

  async function publish(order: Order): Promise<void> {
    if (waiting.length >= limit) throw serviceError('QUEUE_FULL', limit);
    waiting.push(order);
    arrival.wake();
  }

  const source: Source<Entry> = {
    async take(most, { length }) {
      if (waiting.length === 0 && length === 0) await arrival.wait(waitMs);
      const taken = waiting.splice(0, most);
      inHand = length + taken.length;
      return taken.map((order) => ({ text: '', read: order }));
    },
    async settle(_, left) {
      inHand = left.length;
    },
    waiting: () => waiting.length,
  };

  return {
    reserve,
    publish,
    consume: (handle, signal, { discard } = {}) =>
      deliverFrom(source, handle, signal, { discard }, options),
    depth: async () => waiting.length + inHand,
  };
}
