/**
 * Idea. A row for each unit of the stock. A sale locks any unit that nobody has locked (`SKIP
 *   LOCKED`), writes its order into it, and inserts the order, in one transaction. Buyers of one
 *   voucher do not wait for each other; the number of connections limits how many sell at once.
 * Holds while. The voucher has its rails on: the unique key refuses a user's second order.
 * Breaks when. The rails are off: two requests of one user lock two units. A sale keeps its
 *   connection from begin to COMMIT: a slow one leaves fewer for the others.
 * Source. Shopify's inventory reservations; MySQL, "Locking Reads": SKIP LOCKED.
 */

import { LRUCache } from 'lru-cache';
import {
  change,
  type Pool,
  type PoolConnection,
  type Queryable,
  select,
  transaction,
} from '../connections/mysql.ts';
import { type Outcome, refused, type Voucher } from '../domain.ts';
import { serviceError } from '../errors.ts';
import { checkpoint, work } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import { boundedLine, type LineLimits } from './shared/bounded-line.ts';
import { insertOrder, orderOf, type Run, type Sale, sqlInventory } from './shared/sql-sale.ts';

const unitsMax = 100_000;

type Limits = Omit<LineLimits, 'waitingMax'> & Partial<LineLimits>;

export function unitRows(pool: Pool, limits: Limits): Inventory {
  const inLine = boundedLine({ waitingMax: 200, ...limits });
  const inBoundedTransaction: Run = (on, statements) =>
    inLine(() => transaction(on, 'READ COMMITTED', statements));
  return {
    ...sqlInventory(pool, sale(new LRUCache({ max: 10_000 })), inBoundedTransaction),
    prepare: (voucher, db) =>
      db
        ? prepare(db, voucher)
        : transaction(pool, 'READ COMMITTED', (begun) => prepare(begun, voucher)),
    remaining: ({ id }) => unsold(pool, id),
  };
}

/** @param passed voucher id → the last unit that this process has locked. */
const sale =
  (passed: LRUCache<string, number>): Sale =>
  async (db, order, voucher) => {
    const already = await orderOf(db, order);
    if (already !== undefined) return refused('already-ordered', already);
    const unit = await lockUnit(db, voucher, passed);
    if (unit === undefined) return noUnitFree(db, voucher);
    await checkpoint('after-check');
    await work(voucher);
    await change(db, 'UPDATE voucher_units SET order_id = ? WHERE voucher_id = ? AND unit = ?', [
      ...[order.id, voucher.id, unit],
    ]);
    await checkpoint('stock-taken');
    await insertOrder(db, order, voucher);
    return 'sold';
  };

/**
 * Behind the last unit first: the key of unsold units also has those that were sold a moment ago,
 * until MySQL purges them, and each search would read them all again. Then from the beginning: a
 * sale that was passed may have rolled back.
 */
async function lockUnit(
  db: Queryable,
  { id }: Voucher,
  passed: LRUCache<string, number>,
): Promise<number | undefined> {
  const last = passed.get(id) ?? 0;
  const next = await lockFree(db, id, 'PRIMARY', last);
  if (next === undefined) return lockFree(db, id, 'one_unit_per_order', 0);
  passed.set(id, Math.max(next, passed.get(id) ?? 0)); // Another sale may have passed it meanwhile.
  return next;
}

async function lockFree(
  db: Queryable,
  voucherId: string,
  key: 'PRIMARY' | 'one_unit_per_order',
  behind: number,
): Promise<number | undefined> {
  const [row] = await select<{ unit: number }>(
    db,
    `SELECT unit FROM voucher_units FORCE INDEX (${key})
     WHERE voucher_id = ? AND unit > ? AND order_id IS NULL LIMIT 1 FOR UPDATE SKIP LOCKED`,
    [voucherId, behind],
  );
  return row?.unit;
}

/**
 * A unit that another sale has locked is not sold yet: that sale may roll back. Only COMMIT makes
 * it sold.
 */
async function noUnitFree(db: Queryable, { id }: Voucher): Promise<Outcome> {
  return refused((await unsold(db, id)) === 0 ? 'sold-out' : 'conflict');
}

/** As of the last COMMIT: a unit that is being sold is counted. */
async function unsold(db: Queryable, voucherId: string): Promise<number> {
  const [row] = await select<{ unsold: number }>(
    db,
    'SELECT COUNT(*) AS unsold FROM voucher_units WHERE voucher_id = ? AND order_id IS NULL',
    [voucherId],
  );
  return Number(row?.unsold ?? 0);
}

/** Each INSERT doubles the rows of the voucher: 17 of them make 100,000 units. */
async function prepare(db: PoolConnection, { id, stock }: Voucher): Promise<void> {
  if (stock > unitsMax) throw serviceError('STOCK_TOO_LARGE', stock, unitsMax);
  const units = await countUnits(db, id);
  if (units === stock) return;
  if (units > 0) throw serviceError('VOUCHER_ID_TAKEN', id);
  await change(db, 'INSERT INTO voucher_units (voucher_id, unit) VALUES (?, 1)', [id]);
  for (let made = 1; made < stock; made *= 2)
    await change(
      db,
      'INSERT INTO voucher_units (voucher_id, unit) ' +
        'SELECT voucher_id, unit + ? FROM voucher_units WHERE voucher_id = ? AND unit <= ?',
      [made, id, stock - made],
    );
}

async function countUnits(db: PoolConnection, voucherId: string): Promise<number> {
  const [row] = await select<{ units: number }>(
    db,
    'SELECT COUNT(*) AS units FROM voucher_units WHERE voucher_id = ?',
    [voucherId],
  );
  return Number(row?.units ?? 0);
}
