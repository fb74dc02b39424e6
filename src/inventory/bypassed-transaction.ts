/**
 * Idea. The same check and insert, in a transaction that the statements are not in: the notes' `this.create()`, which
 *   calls past the proxy that would have opened one. Each statement commits by itself.
 * Holds while. Every sale runs to its end.
 * Breaks when. The process dies between the two writes: the stock is gone, and there is no order.
 * Source. The course notes' chapter on one order per user (`AopContext.currentProxy()` is their answer).
 */

import { change, type Pool } from '../connections/mysql.ts';
import { refused } from '../domain.ts';
import { checkpoint } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import {
  insertOrder,
  orderOf,
  type Sale,
  sqlInventory,
  withoutTransaction,
} from './shared/sql-sale.ts';
import { work } from './shared/work.ts';

export const bypassedTransaction = (pool: Pool): Inventory =>
  sqlInventory(pool, sale, withoutTransaction);

const sale: Sale = async (pool, order, voucher) => {
  const already = await orderOf(pool, order);
  if (already !== undefined) return refused('already-ordered', already);
  await checkpoint('after-check');
  await work(voucher);
  const taken = await change(
    pool,
    'UPDATE seckill_stock SET stock = stock - 1 WHERE voucher_id = ? AND stock > 0',
    [voucher.id],
  );
  if (taken === 0) return refused('sold-out');
  await checkpoint('stock-taken');
  await insertOrder(pool, order, voucher);
  return 'sold';
};
