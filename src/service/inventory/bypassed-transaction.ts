/**
 * Idea. Check for the user's order, take one from stock, insert the order: three statements that
 *   each commit by themselves. In Java, `this.create()` calls a `@Transactional` method directly:
 *   the call bypasses the proxy, so no transaction begins.
 * Holds while. Every sale runs to its end, and the sales of one user run one at a time.
 * Breaks when. The process dies between the two writes: the stock is taken, and there is no order.
 * Source. The course notes' chapter on one order per user; `AopContext.currentProxy()` fixes it.
 */
import { change, type Pool } from '../connections/mysql.ts';
import { isAnswerLost } from '../connections/store-errors.ts';
import { refused } from '../domain.ts';
import { serviceError } from '../errors.ts';
import { checkpoint, work } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import { insertOrder, orderOf, type Run, type Sale, sqlInventory } from './shared/sql-sale.ts';

export const bypassedTransaction = (pool: Pool): Inventory =>
  sqlInventory(pool, sale, withoutTransaction);

const sale: Sale = async (pool, order, voucher) => {
  const already = await orderOf(pool, order);
  if (already !== undefined) return refused('already-ordered', already);
  await checkpoint('after-check');
  await work(voucher);
  const taken = await change(
    pool,
    'UPDATE seckill_stock SET stock = stock - 1 WHERE voucher_id = ? AND stock > 0',
    [voucher.id],
  );
  if (taken === 0) return refused('sold-out');
  await checkpoint('stock-taken');
  await insertOrder(pool, order, voucher);
  return 'sold';
};

/** Each statement commits by itself, so one without an answer may have sold. */
const withoutTransaction: Run = (pool, statements) =>
  statements(pool).catch((error: unknown) => {
    throw isAnswerLost(error) ? serviceError('COMMIT_UNKNOWN').causedBy(error) : error;
  });
