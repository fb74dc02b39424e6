/**
 * Idea. A transaction begins, and inside it the lock is acquired, the user's order is checked, the
 *   stock is decremented, the order is inserted and the lock is released. Then the transaction
 *   commits. This is `synchronized` inside a `@Transactional` method in Java.
 * Holds while. No request checks between the release and the commit.
 * Breaks when. The next owner of the lock checks before the commit: it cannot see the order yet,
 *   and inserts another one for the same user.
 * Source. The course notes' chapter on one order per user; Redisson issue 2183.
 */
import { change, type Pool } from '../connections/mysql.ts';
import { refused, resourceOf, type Scope } from '../domain.ts';
import { type Lock, using } from '../locks/lock.ts';
import { checkpoint, work } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import { insertOrder, orderOf, sqlInventory } from './shared/sql-sale.ts';

export interface LockInside {
  readonly lock: Lock;
  readonly scope: Scope;
  readonly waitMs: number;
}

export const lockInsideTransaction = (pool: Pool, { lock, scope, waitMs }: LockInside): Inventory =>
  sqlInventory(pool, async (db, order, voucher) => {
    const sold = await using(lock, resourceOf(scope, order), { waitMs }, async () => {
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
    return sold ?? refused('busy');
  });
