/** From a delivered order to a row in MySQL: once, however often it is delivered. */
import {
  change,
  isDuplicateKey,
  type Pool,
  type PoolConnection,
  select,
  transaction,
} from '../connections/mysql.ts';
import type { Order } from '../domain.ts';
import type { DeadLetterReason } from './dead-letters.ts';

export type Recording = 'recorded' | DeadLetterReason;

/** MySQL has less stock than the orders taken from Redis: it must not be sold. */
class StockShort extends Error {}

/**
 * All in one transaction: one multi-row insert, one conditional decrement for each voucher.
 * @throws whatever refused any of them; nothing is recorded then, and single orders are the way on.
 */
export async function recordBatch(pool: Pool, orders: readonly Order[]): Promise<void> {
  const perVoucher = new Map<string, number>();
  for (const { voucherId } of orders) perVoucher.set(voucherId, (perVoucher.get(voucherId) ?? 0) + 1);
  const inOneOrder = [...perVoucher].sort(([a], [b]) => (a < b ? -1 : 1)); // So that two batches cannot deadlock.
  await transaction(pool, 'READ COMMITTED', async (db) => {
    await insert(db, orders);
    for (const [voucherId, count] of inOneOrder) await takeStock(db, voucherId, count);
  });
}

/** @throws when it cannot be told yet, so that the order is delivered again. */
export async function recordOne(pool: Pool, order: Order): Promise<Recording> {
  try {
    await recordBatch(pool, [order]);
    return 'recorded';
  } catch (error) {
    if (error instanceof StockShort) return 'stock-short';
    if (!isDuplicateKey(error)) throw error;
    return alreadyThere(pool, order);
  }
}

/** A duplicate of the same order is a redelivery and a success; of the user's place, it is another order. */
async function alreadyThere(pool: Pool, order: Order): Promise<Recording> {
  const [row] = await select<{ same: number; reason: DeadLetterReason | null }>(
    pool,
    'SELECT voucher_id = ? AND user_id = ? AND request_id = ? AS same, reason FROM orders WHERE id = ?',
    [order.voucherId, order.userId, order.requestId, order.id],
  );
  if (!row) return 'user-has-another-order';
  return row.same === 1 ? (row.reason ?? 'recorded') : 'id-belongs-to-another-order';
}

async function insert(db: PoolConnection, orders: readonly Order[]): Promise<void> {
  const rows = orders.map(() => '(?, ?, ?, ?, 1)').join(', ');
  const values = orders.flatMap(({ id, voucherId, userId, requestId }) => [id, voucherId, userId, requestId]);
  // query, not execute: the statement's length varies, and every length would be prepared and kept.
  await db.query(
    `INSERT INTO orders (id, voucher_id, user_id, request_id, one_per_user) VALUES ${rows}`,
    values,
  );
}

async function takeStock(db: PoolConnection, voucherId: string, count: number): Promise<void> {
  const statement = 'UPDATE seckill_stock SET stock = stock - ? WHERE voucher_id = ? AND stock >= ?';
  if ((await change(db, statement, [count, voucherId, count])) !== 1) throw new StockShort();
}
