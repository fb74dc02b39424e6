/**
 * Idea. The same check and insert, with the lock inside the transaction: the notes' `synchronized` in a method that is
 *   `@Transactional`. The block ends, the lock is free, and only then does the framework commit.
 * Holds while. Nobody looks between the release and the commit.
 * Breaks when. The next holder, who has been waiting right there, looks at once: it cannot see the order yet.
 * Source. The course notes' chapter on one order per user; Redisson issue 2183.
 */
import { checkpoint } from '../checkpoints.ts';
import type { Connections } from '../connections/connections.ts';
import { change } from '../connections/mysql.ts';
import { refused } from '../domain.ts';
import { type Lock, using } from '../locks/lock.ts';
import type { Inventory } from './inventory.ts';
import { insertOrder, orderOf, sqlInventory, work } from './sql-sale.ts';

export const open = (connections: Connections, lock: Lock): Inventory =>
  sqlInventory(connections, async (db, order, voucher) => {
    const resource = `voucher:${voucher.id}:user:${order.userId}`;
    const sold = await using(lock, resource, { waitMs: connections.config.LOCK_WAIT_MS }, async () => {
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
      await insertOrder(db, order, voucher);
      return 'sold';
    });
    if (sold === 'sold') await work(voucher); // What a framework does between the end of the method and its commit.
    return sold ?? refused('busy');
  });
