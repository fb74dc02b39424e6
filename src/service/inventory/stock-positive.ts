/**
 * Idea. Check and decrement in one statement: `stock = stock - 1 WHERE stock > 0`. The row lock of
 *   the statement makes it one step.
 * Holds while. Always, for the stock: MySQL checks and decrements one sale at a time.
 * Breaks when. One order per user is also required: the statement does not check the user.
 * Source. The course notes' fix for overselling.
 */
import { change, type Pool } from '../connections/mysql.ts';
import { refused } from '../domain.ts';
import { work } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import { insertOrder, sqlInventory } from './shared/sql-sale.ts';

export const stockPositive = (pool: Pool): Inventory =>
  sqlInventory(pool, async (db, order, voucher) => {
    await work(voucher);
    const taken = await change(
      db,
      'UPDATE seckill_stock SET stock = stock - 1 WHERE voucher_id = ? AND stock > 0',
      [voucher.id],
    );
    if (taken === 0) return refused('sold-out');
    await insertOrder(db, order, voucher);
    return 'sold';
  });
