/**
 * Idea. The sale as separate Redis commands: read the stock, look up the user, decrement the stock,
 *   add the user. Then the instance publishes the order to a queue.
 * Holds while. The sales of one voucher run one at a time.
 * Breaks when. Two requests read before either writes: the stock falls below zero, or one user gets
 *   two orders.
 * Source. The course notes' reason for Lua: GET, SISMEMBER, DECR and SADD are each atomic, but not
 *   together.
 */
import type { Redis } from 'ioredis';
import type { SaleKeys } from '../connections/sale-keys.ts';
import { type Order, type Outcome, refused, type Voucher } from '../domain.ts';
import type { OrderQueue } from '../queues/order-queue.ts';
import { checkpoint, work } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import { prepare, remaining, saleLost } from './shared/claims.ts';

export function redisCommands(redis: Redis, keys: SaleKeys, queue: OrderQueue): Inventory {
  async function sell(order: Order, voucher: Voucher): Promise<Outcome> {
    const { id, voucherId, userId, requestId } = order;
    const shard = keys.of(voucherId);
    const stock = await remaining(redis, keys, voucherId);
    if (stock === null) return saleLost;
    if (stock <= 0) return refused('sold-out');
    const bought = await redis.hget(shard.buyers(voucherId), userId);
    if (bought !== null) return refused('already-ordered', bought.split(':')[0]);
    await checkpoint('after-check');
    await work(voucher);
    try {
      await redis.hincrby(shard.voucher(voucherId), 'stock', -1);
      await redis.hset(shard.buyers(voucherId), userId, `${id}:${requestId}`);
      await queue.publish(order);
      return { kind: 'accepted', orderId: id, status: 'queued' };
    } catch (cause) {
      return { kind: 'unknown', orderId: id, cause };
    }
  }

  return {
    clock: 'instance',
    prepare: (voucher) => prepare(redis, keys, voucher),
    sell,
    remaining: ({ id }) => remaining(redis, keys, id),
  };
}
