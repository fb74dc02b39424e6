/**
 * Idea. Insert the order first: the unique key over voucher and user refuses a second one. Then
 *   take the stock.
 * Holds while. The voucher has its rails on.
 * Breaks when. The rails are off: nothing else looks for the user's first order.
 * Source. MySQL, "INSERT"; the unique key that the course notes leave out.
 */
import { change, type Pool } from '../connections/mysql.ts';
import { refused } from '../domain.ts';
import { work } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import { insertOrder, sqlInventory } from './shared/sql-sale.ts';

export const insertThenTake = (pool: Pool): Inventory =>
  sqlInventory(pool, async (db, order, voucher) => {
    await insertOrder(db, order, voucher);
    await work(voucher);
    const taken = await change(
      db,
      'UPDATE seckill_stock SET stock = stock - 1 WHERE voucher_id = ? AND stock > 0',
      [voucher.id],
    );
    return taken === 0 ? refused('sold-out') : 'sold';
  });
