/**
 * Idea. Optimistic, without a version: read the stock, and write only if it has not changed.
 * Holds while. Always: MySQL compares and writes in one step, and the stock only falls.
 * Breaks when. Never, but it refuses many requests although stock is left: of all sales that read
 *   the same stock, only one can write.
 * Source. The course notes' optimistic lock, compare-and-set method.
 */
import { change, type Pool, select } from '../connections/mysql.ts';
import { refused } from '../domain.ts';
import { checkpoint, work } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import { insertOrder, sqlInventory } from './shared/sql-sale.ts';

export const stockCompareAndSet = (pool: Pool): Inventory =>
  sqlInventory(pool, async (db, order, voucher) => {
    const [row] = await select<{ stock: number }>(
      db,
      'SELECT stock FROM seckill_stock WHERE voucher_id = ?',
      [voucher.id],
    );
    if (!row || row.stock <= 0) return refused('sold-out');
    await checkpoint('after-check');
    await work(voucher);
    const written = await change(
      db,
      'UPDATE seckill_stock SET stock = stock - 1 WHERE voucher_id = ? AND stock = ?',
      [voucher.id, row.stock],
    );
    if (written === 0) return refused('conflict');
    await insertOrder(db, order, voucher);
    return 'sold';
  });
