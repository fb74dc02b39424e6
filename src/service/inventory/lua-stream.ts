/**
 * Idea. One Lua script checks the time window, the user and the stock, takes one from stock, and
 *   adds the order to a stream. It is one step, so a crash cannot stop it half-way. The client is
 *   answered `accepted`; workers record the stream in MySQL afterwards.
 * Holds while. Redis keeps every write that it acknowledged: ORDER_DURABILITY says what it must
 *   survive, and `replica` waits for one. MySQL's rails refuse a second order of a user.
 * Breaks when. Redis loses acknowledged writes. When it has lost its epoch too, nothing is sold
 *   until it is rebuilt from MySQL.
 * Source. The Java original of the course (hmdp), whose script has the XADD; the notes end with a
 *   BlockingQueue. Added here: declared keys, idempotency, and an order id made before the script.
 */
import type { Redis } from 'ioredis';
import type { SaleKeys } from '../connections/sale-keys.ts';
import { type Order, type Outcome, refused, type Voucher } from '../domain.ts';
import type { Inventory } from './inventory.ts';
import { prepare, remaining } from './shared/claims.ts';
import { type ScriptOptions, sellByScript } from './shared/purchase-script.ts';
import { SoldOutMemory } from './shared/sold-out-memory.ts';

export function luaStream(redis: Redis, keys: SaleKeys, options: ScriptOptions = {}): Inventory {
  const soldOut = new SoldOutMemory(redis);
  const purchase = sellByScript(redis, options);

  function sell(order: Order, voucher: Voucher): Outcome | Promise<Outcome> {
    if (redis.status !== 'ready') return refused('not-ready'); // Nothing was sent.
    const shard = keys.of(order.voucherId);
    if (soldOut.isTrueFor(order, shard)) return refused('sold-out');
    return purchase(shard, order).then(({ outcome, answer, askedAtMs }) => {
      soldOut.learn(voucher, shard, answer, askedAtMs);
      return outcome;
    });
  }

  return {
    clock: 'redis',
    prepare: (voucher) => prepare(redis, keys, voucher),
    sell,
    remaining: ({ id }) => remaining(redis, keys, id),
  };
}
