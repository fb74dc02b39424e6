/**
 * How often MySQL refused the row of each order. All workers count together, in Redis: whichever
 * of them gets the next delivery, or starts again, goes on counting. The deliveries that a queue
 * counts would not do: an outage makes many, and then the first refusal after it would be the
 * last.
 */
import type { Redis } from 'ioredis';
import type { SaleKeys } from '../connections/sale-keys.ts';
import type { Order } from '../domain.ts';
import { throwFirst } from '../queues/shared/redis-queue.ts';

/** Since the last refusal: a count that nobody removed does not stay for ever. */
const keptSeconds = 86_400;

export class Refusals {
  readonly #redis: Redis;
  readonly #saleKeys: SaleKeys;

  constructor(redis: Redis, saleKeys: SaleKeys) {
    this.#redis = redis;
    this.#saleKeys = saleKeys;
  }

  /** @returns how many there are now. */
  async add({ id, voucherId }: Order): Promise<number> {
    const { refusals } = this.#saleKeys.of(voucherId);
    const counting = this.#redis.multi().hincrby(refusals, id, 1);
    const [count] = throwFirst(await counting.expire(refusals, keptSeconds).exec());
    return Number(count);
  }

  /**
   * For orders that are settled. Nearly always there is no count at all: then it is one question
   * for each shard.
   */
  async forget(orders: readonly Order[]): Promise<void> {
    const ids = new Map<string, string[]>();
    for (const { id, voucherId } of orders) {
      const { refusals } = this.#saleKeys.of(voucherId);
      const own = ids.get(refusals) ?? [];
      own.push(id);
      ids.set(refusals, own);
    }
    const forgetIn = async ([refusals, own]: [string, string[]]) => {
      if ((await this.#redis.exists(refusals)) === 1) await this.#redis.hdel(refusals, ...own);
    };
    await Promise.all([...ids].map(forgetIn));
  }
}
