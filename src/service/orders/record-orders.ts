/** Records delivered orders in MySQL: one row for each order, also after several deliveries. */
import { stayInEpoch } from '../connections/epoch.ts';
import {
  change,
  isDuplicateKey,
  type Pool,
  type PoolConnection,
  type RowDataPacket,
  transaction,
} from '../connections/mysql.ts';
import { hasRails, type Order } from '../domain.ts';
import type { Vouchers } from '../purchase/vouchers.ts';
import { checkpointEach } from '../trace/checkpoints.ts';
import type { DeadLetterReason } from './dead-letters.ts';

export type Recording = 'recorded' | DeadLetterReason;

/** MySQL has less stock than these orders need, so they must not be recorded. */
class StockShort extends Error {}
export const isStockShort = (error: unknown): boolean => error instanceof StockShort;

export interface Records {
  readonly pool: Pool;
  readonly vouchers: Pick<Vouchers, 'find'>;
  /** That of MySQL when the orders were read from their queue. Empty: it is not checked. */
  readonly epoch?: string;
}

/**
 * One transaction: one multi-row insert, and one conditional decrement for each voucher.
 * @throws EPOCH_OVER, or the error of the statement that failed. Nothing is recorded then; the
 *   caller records the orders in smaller batches.
 */
export async function recordBatch(
  { pool, vouchers, epoch = '' }: Records,
  orders: readonly Order[],
): Promise<void> {
  const railed = await voucherRails(vouchers, orders);
  const perVoucher = Map.groupBy(orders, ({ voucherId }) => voucherId);
  // Every batch updates vouchers in the same order, so that two batches cannot deadlock.
  const sorted = [...perVoucher].sort(([a], [b]) => (a < b ? -1 : 1));
  await transaction(pool, 'READ COMMITTED', async (db) => {
    if (epoch !== '') await stayInEpoch(db, epoch);
    await insert(db, orders, railed);
    for (const [voucherId, { length }] of sorted)
      await takeStock(db, voucherId, length, railed.has(voucherId));
    await checkpointEach('recording', orders);
  });
}

/**
 * The vouchers whose rails are on. A voucher that MySQL does not have is one of them, so that its
 * order fails as `stock-short`.
 */
async function voucherRails(
  vouchers: Records['vouchers'],
  orders: readonly Order[],
): Promise<ReadonlySet<string>> {
  const ids = [...new Set(orders.map(({ voucherId }) => voucherId))];
  const found = await Promise.all(ids.map((id) => vouchers.find(id)));
  return new Set(ids.filter((_, index) => hasRails(found[index] ?? {})));
}

/** @throws when the result is unknown, so that the order is delivered again. */
export async function recordOne(records: Records, order: Order): Promise<Recording> {
  try {
    await recordBatch(records, [order]);
    return 'recorded';
  } catch (error) {
    if (isStockShort(error)) return 'stock-short';
    if (!isDuplicateKey(error)) throw error;
    return alreadyRecorded(records.pool, order);
  }
}

/** Those of the orders whose id MySQL has, each with what was recorded under it. */
export async function findRecorded(
  pool: Pool,
  orders: readonly Order[],
): Promise<ReadonlyMap<string, Recording>> {
  const rows = new Map((await rowsOf(pool, orders)).map((row) => [row.id, row]));
  return new Map(
    orders.flatMap((order) => {
      const row = rows.get(order.id);
      return row ? [[order.id, recordingOf(row, order)] as const] : [];
    }),
  );
}

/** Without a row of this id, the duplicate is another order of the same user. */
async function alreadyRecorded(pool: Pool, order: Order): Promise<Recording> {
  const recorded = await findRecorded(pool, [order]);
  return recorded.get(order.id) ?? 'user-has-another-order';
}

interface RecordedRow extends Order {
  readonly reason: DeadLetterReason | null;
}

async function rowsOf(pool: Pool, orders: readonly Order[]): Promise<RecordedRow[]> {
  if (orders.length === 0) return [];
  const places = orders.map(() => '?').join(', ');
  // `query`, not `execute`: each batch size would add another prepared statement to the cache.
  const [rows] = await pool.query<(RecordedRow & RowDataPacket)[]>(
    `SELECT CAST(id AS CHAR) AS id, CAST(voucher_id AS CHAR) AS voucherId,
            CAST(user_id AS CHAR) AS userId, request_id AS requestId, reason
     FROM orders WHERE id IN (${places})`,
    orders.map(({ id }) => id),
  );
  return rows;
}

/**
 * The same order is a redelivery. JavaScript compares the fields, because the result of a
 * comparison is a BIGINT in MySQL and an INT in MariaDB, and these arrive as '1' and 1.
 */
function recordingOf(row: RecordedRow, order: Order): Recording {
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
    id,
    voucherId,
    userId,
    requestId,
    railed.has(voucherId) ? 1 : null,
  ]);
  // `query`, not `execute`: each batch size would add another prepared statement to the cache.
  await db.query(
    `INSERT INTO orders (id, voucher_id, user_id, request_id, one_per_user) VALUES ${rows}`,
    values,
  );
}

/** Without rails the stock may fall below zero, so that the audit can see an oversold voucher. */
async function takeStock(
  db: PoolConnection,
  voucherId: string,
  count: number,
  withRails: boolean,
): Promise<void> {
  const statement = 'UPDATE seckill_stock SET stock = stock - ? WHERE voucher_id = ?';
  const taken = withRails
    ? await change(db, `${statement} AND stock >= ?`, [count, voucherId, count])
    : await change(db, statement, [count, voucherId]);
  if (taken !== 1) throw new StockShort();
}
