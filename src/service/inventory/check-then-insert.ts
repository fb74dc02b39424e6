/**
 * Idea. Check whether the user has an order; if not, decrement the stock in one safe statement and
 *   insert the order, all in one transaction.
 * Holds while. The sales of one user run one at a time, for example under a lock around the sale.
 * Breaks when. Two requests of one user both check before either inserts: one user gets two orders.
 * Source. The course notes' first version of one order per user.
 */
import { change, type Pool } from '../connections/mysql.ts';
import { refused } from '../domain.ts';
import { checkpoint, work } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import { insertOrder, orderOf, sqlInventory } from './shared/sql-sale.ts';

export const checkThenInsert = (pool: Pool): Inventory =>
  sqlInventory(pool, async (db, order, voucher) => {
    const already = await orderOf(db, order);
    if (already !== undefined) return refused('already-ordered', already);
    await checkpoint('after-check');
    await work(voucher);
    const taken = await change(
      db,
      'UPDATE seckill_stock SET stock = stock - 1 WHERE voucher_id = ? AND stock > 0',
      [voucher.id],
    );
    if (taken === 0) return refused('sold-out');
    await checkpoint('stock-taken');
    await insertOrder(db, order, voucher);
    return 'sold';
  });
