/**
 * Idea. Pessimistic: `SELECT … FOR UPDATE` reads the stock and locks its row. Every other sale of
 *   this voucher waits until the transaction commits.
 * Holds while. Always, for the stock: check and write are one sale at a time.
 * Breaks when. Never, but the sales of a voucher are serial, and a paused owner of the row lock
 *   stops them all.
 * Source. MySQL, "Locking Reads"; the course notes' pessimistic lock.
 */
import { change, type Pool, select } from '../connections/mysql.ts';
import { refused } from '../domain.ts';
import { checkpoint, work } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import { insertOrder, sqlInventory } from './shared/sql-sale.ts';

export const rowLock = (pool: Pool): Inventory =>
  sqlInventory(pool, async (db, order, voucher) => {
    const [row] = await select<{ stock: number }>(
      db,
      'SELECT stock FROM seckill_stock WHERE voucher_id = ? FOR UPDATE',
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
