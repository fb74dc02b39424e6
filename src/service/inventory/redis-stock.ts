/**
 * Idea. The stock is a number in Redis. Under a lock for the voucher, read it and write it back one
 *   lower; MySQL records the order.
 * Holds while. The lock has one owner at a time: then the read and the write are one step.
 * Breaks when. Two owners overlap: both write the same number, and one update is lost. A sale that
 *   fails after the write to Redis leaves the stock there one too low.
 * Source. The course notes' distributed lock around a product's stock (GET stock, SET stock - 1).
 */
import type { Redis } from 'ioredis';
import { change, type Pool } from '../connections/mysql.ts';
import type { SaleKeys } from '../connections/sale-keys.ts';
import { refused } from '../domain.ts';
import { checkpoint, work } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import { prepare, remaining, saleLost } from './shared/claims.ts';
import { insertOrder, sqlInventory } from './shared/sql-sale.ts';

export function redisStock(pool: Pool, redis: Redis, keys: SaleKeys): Inventory {
  const sql = sqlInventory(pool, async (db, order, voucher, lease) => {
    const stock = await remaining(redis, keys, voucher.id);
    if (stock === null) return saleLost;
    if (stock <= 0) return refused('sold-out');
    await checkpoint('after-check');
    await work(voucher);
    lease.assertHeld();
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
    remaining: ({ id }) => remaining(redis, keys, id),
  };
}
