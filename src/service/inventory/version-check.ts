/**
 * Idea. Optimistic: read the stock and its version, and write only if the version has not changed.
 * Holds while. Always: MySQL compares and writes in one step, and every write changes the version.
 * Breaks when. Never, but it refuses many requests although stock is left: of all sales that read
 *   the same version, only one can write.
 * Source. The course notes' optimistic lock, version number method.
 */
import { change, type Pool, select } from '../connections/mysql.ts';
import { refused } from '../domain.ts';
import { checkpoint, work } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import { insertOrder, sqlInventory } from './shared/sql-sale.ts';

export const versionCheck = (pool: Pool): Inventory =>
  sqlInventory(pool, async (db, order, voucher) => {
    const [row] = await select<{ stock: number; version: number }>(
      db,
      'SELECT stock, version FROM seckill_stock WHERE voucher_id = ?',
      [voucher.id],
    );
    if (!row || row.stock <= 0) return refused('sold-out');
    await checkpoint('after-check');
    await work(voucher);
    const written = await change(
      db,
      'UPDATE seckill_stock SET stock = stock - 1, version = version + 1 ' +
        'WHERE voucher_id = ? AND version = ?',
      [voucher.id, row.version],
    );
    if (written === 0) return refused('conflict');
    await insertOrder(db, order, voucher);
    return 'sold';
  });
