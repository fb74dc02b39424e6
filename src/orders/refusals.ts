/**
 * How often MySQL refused the row of each order. The deliveries that a queue counts would not do:
 * an outage makes many, and then the first refusal after it would be the last. A worker that starts
 * again counts from 0, so that an order is rather delivered once more than dead-lettered too soon.
 */
import { LRUCache } from 'lru-cache';

const mostOrders = 10_000;

export class Refusals {
  readonly #counts = new LRUCache<string, number>({ max: mostOrders });

  /** @returns how many there are now. */
  add(orderId: string): number {
    const count = (this.#counts.get(orderId) ?? 0) + 1;
    this.#counts.set(orderId, count);
    return count;
  }
}
