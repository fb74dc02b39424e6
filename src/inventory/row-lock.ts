/**
 * Idea. Pessimistic: `SELECT … FOR UPDATE` takes the row's lock with the read; everybody else waits for the commit.
 * Holds while. Always, for the stock: check and write are one sale at a time.
 * Breaks when. Never, but all sales of a voucher stand in one line, and a paused holder stops the line.
 * Source. MySQL, "Locking Reads"; the course notes' pessimistic lock.
 */

import { change, type Pool, select } from '../connections/mysql.ts';
import { refused } from '../domain.ts';
import { checkpoint } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import { insertOrder, sqlInventory } from './shared/sql-sale.ts';
import { work } from './shared/work.ts';

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
