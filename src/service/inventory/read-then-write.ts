/**
 * Idea. Read the stock, check it, write it back one lower, insert the order.
 * Holds while. The sales of one voucher run one at a time.
 * Breaks when. Two sales read the same stock: both write the same number, and both insert an order.
 *   The voucher is oversold.
 * Source. The course notes' first version of the sale.
 */
import { change, type Pool, select } from '../connections/mysql.ts';
import { refused } from '../domain.ts';
import { checkpoint, work } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import { insertOrder, sqlInventory } from './shared/sql-sale.ts';

export const readThenWrite = (pool: Pool): Inventory =>
  sqlInventory(pool, async (db, order, voucher) => {
    const [row] = await select<{ stock: number }>(
      db,
      'SELECT stock FROM seckill_stock WHERE voucher_id = ?',
      [voucher.id],
    );
    if (!row || row.stock <= 0) return refused('sold-out');
    await checkpoint('after-check');
    await work(voucher);
    await change(db, 'UPDATE seckill_stock SET stock = ? WHERE voucher_id = ?', [
      row.stock - 1,
      voucher.id,
    ]);
    await insertOrder(db, order, voucher);
    return 'sold';
  });
