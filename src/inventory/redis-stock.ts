/**
 * Idea. The stock is a number in Redis: read it, write it back one lower, under a lock on the voucher. MySQL gets the order.
 * Holds while. The lock holds: it turns GET and SET into one step.
 * Breaks when. The lock does: then it is a lost update again. A sale that fails after the SET loses one from stock.
 * Source. The course notes' distributed lock around the stock of a product (GET stock, SET stock - 1).
 */

import type { Redis } from 'ioredis';
import { change, type Pool } from '../connections/mysql.ts';
import type { SaleKeys } from '../connections/sale-keys.ts';
import { refused } from '../domain.ts';
import { checkpoint } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import { prepare, remaining } from './shared/claims.ts';
import { insertOrder, sqlInventory } from './shared/sql-sale.ts';
import { work } from './shared/work.ts';

export function redisStock(pool: Pool, redis: Redis, keys: SaleKeys): Inventory {
  const sql = sqlInventory(pool, async (db, order, voucher, lease) => {
    const stock = await remaining(redis, keys, voucher.id);
    if (stock <= 0) return refused('sold-out');
    await checkpoint('after-check');
    await work(voucher);
    lease.signal.throwIfAborted();
    await redis.hset(keys.of(voucher.id).voucher(voucher.id), 'stock', stock - 1);
    await change(db, 'UPDATE seckill_stock SET stock = stock - 1 WHERE voucher_id = ?', [
      voucher.id,
    ]);
    await insertOrder(db, order, voucher);
    return 'sold';
  });

  return {
    ...sql,
    prepare: (voucher) => prepare(redis, keys, voucher),
    remaining: (voucherId) => remaining(redis, keys, voucherId),
  };
}
