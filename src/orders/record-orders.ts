/** From a delivered order to a row in MySQL: once, however often it is delivered. */
import {
  change,
  isDuplicateKey,
  type Pool,
  type PoolConnection,
  select,
  transaction,
} from '../connections/mysql.ts';
import { hasRails, type Order } from '../domain.ts';
import type { Vouchers } from '../purchase/vouchers.ts';
import type { DeadLetterReason } from './dead-letters.ts';

export type Recording = 'recorded' | DeadLetterReason;

/** MySQL has less stock than the orders taken from Redis: it must not be sold. */
class StockShort extends Error {}

export interface Records {
  readonly pool: Pool;
  readonly vouchers: Pick<Vouchers, 'find'>;
}

/**
 * All in one transaction: one multi-row insert, one conditional decrement for each voucher.
 * @throws the error of the statement that was refused; nothing is recorded then, and orders are recorded one by one.
 */
export async function recordBatch(
  { pool, vouchers }: Records,
  orders: readonly Order[],
): Promise<void> {
  const railed = await voucherRails(vouchers, orders);
  const perVoucher = new Map<string, number>();
  for (const { voucherId } of orders)
    perVoucher.set(voucherId, (perVoucher.get(voucherId) ?? 0) + 1);
  const sorted = [...perVoucher].sort(([a], [b]) => (a < b ? -1 : 1)); // So that two batches cannot deadlock.
  await transaction(pool, 'READ COMMITTED', async (db) => {
    await insert(db, orders, railed);
    for (const [voucherId, count] of sorted)
      await takeStock(db, voucherId, count, railed.has(voucherId));
  });
}

/** The vouchers whose rails are on. A voucher that MySQL does not have counts among them: its stock is then short. */
async function voucherRails(
  vouchers: Records['vouchers'],
  orders: readonly Order[],
): Promise<ReadonlySet<string>> {
  const ids = [...new Set(orders.map(({ voucherId }) => voucherId))];
  const found = await Promise.all(ids.map((id) => vouchers.find(id)));
  return new Set(ids.filter((_, index) => hasRails(found[index] ?? {})));
}

/** @throws when the result is not known yet, so that the order is delivered again. */
export async function recordOne(records: Records, order: Order): Promise<Recording> {
  try {
    await recordBatch(records, [order]);
    return 'recorded';
  } catch (error) {
    if (error instanceof StockShort) return 'stock-short';
    if (!isDuplicateKey(error)) throw error;
    return alreadyRecorded(records.pool, order);
  }
}

interface RecordedRow {
  readonly voucherId: string;
  readonly userId: string;
  readonly requestId: string;
  readonly reason: DeadLetterReason | null;
}

/**
 * A duplicate order id of the same order is a redelivery and a success; a duplicate user is another order. The comparison
 * is made here: MySQL answers a comparison with a BIGINT and MariaDB with an INT, which arrive as '1' and 1.
 */
async function alreadyRecorded(pool: Pool, order: Order): Promise<Recording> {
  const [row] = await select<RecordedRow>(
    pool,
    `SELECT CAST(voucher_id AS CHAR) AS voucherId, CAST(user_id AS CHAR) AS userId, request_id AS requestId, reason
     FROM orders WHERE id = ?`,
    [order.id],
  );
  if (!row) return 'user-has-another-order';
  const isSame =
    row.voucherId === order.voucherId &&
    row.userId === order.userId &&
    row.requestId === order.requestId;
  return isSame ? (row.reason ?? 'recorded') : 'id-belongs-to-another-order';
}

async function insert(
  db: PoolConnection,
  orders: readonly Order[],
  railed: ReadonlySet<string>,
): Promise<void> {
  const rows = orders.map(() => '(?, ?, ?, ?, ?)').join(', ');
  const values = orders.flatMap(({ id, voucherId, userId, requestId }) => [
    ...[id, voucherId, userId, requestId],
    railed.has(voucherId) ? 1 : null,
  ]);
  // query, not execute: the statement's length varies, and every length would be prepared and kept.
  await db.query(
    `INSERT INTO orders (id, voucher_id, user_id, request_id, one_per_user) VALUES ${rows}`,
    values,
  );
}

/** Without rails the stock may fall below zero, so that the audit sees an oversold voucher. */
async function takeStock(
  db: PoolConnection,
  voucherId: string,
  count: number,
  hasRails: boolean,
): Promise<void> {
  const statement = 'UPDATE seckill_stock SET stock = stock - ? WHERE voucher_id = ?';
  const taken = hasRails
    ? await change(db, `${statement} AND stock >= ?`, [count, voucherId, count])
    : await change(db, statement, [count, voucherId]);
  if (taken !== 1) throw new StockShort();
}
