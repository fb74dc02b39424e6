/**
 * Idea. As check-then-insert, and the last statement before the commit gives the lease's fence to
 *   MySQL: `SELECT … WHERE closed < fence FOR UPDATE`. If a newer lease was granted, nothing is
 *   sold.
 * Holds while. Each lease has a larger fence than the one before it, and MySQL keeps its data.
 * Breaks when. Two leases have the same fence. A process that is paused inside its transaction
 *   keeps its rows locked, as in every inventory in MySQL: buyers wait until it resumes or MySQL
 *   ends the transaction.
 * Source. Kleppmann, "How to do distributed locking": the storage checks the fencing token.
 */
import { checkFence } from '../connections/fences.ts';
import { change, type Pool, transaction } from '../connections/mysql.ts';
import { refused, resourceOf, type Scope } from '../domain.ts';
import { checkpoint, work } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import { insertOrder, orderOf, type Run, type Sale, sqlInventory } from './shared/sql-sale.ts';

/** `scope` names the resource whose lease sells. */
export function fencedInsert(pool: Pool, scope: Scope): Inventory {
  const inFencedTransaction: Run = (on, statements, order, { fence }) =>
    transaction(on, 'READ COMMITTED', async (db) => {
      await statements(db);
      if (fence === undefined)
        throw new Error('fenced-insert needs a lock whose leases have a fence');
      await checkFence(db, resourceOf(scope, order), fence);
    });
  return sqlInventory(pool, sale, inFencedTransaction);
}

const sale: Sale = async (db, order, voucher) => {
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
};
