/** Shared by the inventories in MySQL: one sale in a transaction, and its result as an outcome. */

import { setTimeout as sleep } from 'node:timers/promises';
import {
  change,
  isContention,
  isDuplicateKey,
  type Pool,
  type Queryable,
  select,
  transaction,
} from '../../connections/mysql.ts';
import { isStoreUnavailable } from '../../connections/store-errors.ts';
import { hasRails, type Order, type Outcome, refused, type Voucher } from '../../domain.ts';
import { isServiceError, LeaseLost } from '../../errors.ts';
import type { Lease } from '../../locks/lock.ts';
import { checkpoint } from '../../trace/checkpoints.ts';
import { record } from '../../trace/history.ts';
import type { Inventory } from '../inventory.ts';

/** The statements of one inventory. `'sold'` is committed, a refusal is rolled back. */
export type Sale = (
  db: Queryable,
  order: Order,
  voucher: Voucher,
  lease: Lease,
) => Promise<'sold' | Outcome>;

/** Runs the statements of a sale in one transaction, or without one. */
export type Run = (
  pool: Pool,
  statements: (db: Queryable) => Promise<void>,
  order: Order,
  lease: Lease,
) => Promise<void>;

const inTransaction: Run = (pool, statements) => transaction(pool, 'READ COMMITTED', statements);

export function sqlInventory(pool: Pool, sale: Sale, run: Run = inTransaction): Inventory {
  return {
    clock: 'instance',
    prepare: async () => {}, // The stock row is inserted together with the voucher.
    sell: (order, voucher, lease) =>
      untilNoConflict(voucher.lab?.retries ?? 0, () => {
        const statements = (db: Queryable) => sellOne(db, sale, order, voucher, lease);
        return outcomeOf(() => run(pool, statements, order, lease), pool, order);
      }),
    remaining: ({ id }) => stockLeft(pool, id),
  };
}

export async function stockLeft(pool: Pool, voucherId: string): Promise<number> {
  const [row] = await select<{ stock: number }>(
    pool,
    'SELECT stock FROM seckill_stock WHERE voucher_id = ?',
    [voucherId],
  );
  return row?.stock ?? 0;
}

/** A refusal is thrown inside the transaction, so that the transaction rolls back. */
class Refusal extends Error {
  readonly outcome: Outcome;
  constructor(outcome: Outcome) {
    super('refused');
    this.outcome = outcome;
  }
}

async function sellOne(
  db: Queryable,
  sale: Sale,
  order: Order,
  voucher: Voucher,
  lease: Lease,
): Promise<void> {
  const result = await sale(db, order, voucher, lease);
  if (result !== 'sold') throw new Refusal(result);
  lease.assertHeld(); // The last check before the commit: is the lease still valid?
  await checkpoint('before-commit');
}

async function outcomeOf(sale: () => Promise<void>, pool: Pool, order: Order): Promise<Outcome> {
  try {
    await sale();
    record('committed', order);
    return { kind: 'accepted', orderId: order.id, status: 'confirmed' };
  } catch (error) {
    if (error instanceof Refusal) return error.outcome;
    return outcomeOfError(error, pool, order);
  }
}

/** @throws the error when it says nothing about the sale: then nothing was sold. */
export async function outcomeOfError(error: unknown, pool: Pool, order: Order): Promise<Outcome> {
  if (isServiceError(error, 'COMMIT_UNKNOWN'))
    return { kind: 'unknown', orderId: order.id, cause: error };
  if (error instanceof LeaseLost) return refused('lease-lost');
  if (isServiceError(error, 'STALE_FENCE')) return refused('stale-fence');
  if (isServiceError(error, 'CONNECTIONS_BUSY') || isContention(error))
    return refused('database-busy');
  if (isStoreUnavailable(error)) return mysqlAway;
  if (isDuplicateKey(error)) return refusedByRails(pool, order, error);
  throw error;
}

/** An outcome, and no error: so the history knows that this try was refused. */
const mysqlAway: Outcome = {
  kind: 'refused',
  reason: 'not-ready',
  detail: 'A store does not answer, or takes no writes.',
};

/**
 * Retries after a conflict, a limited number of times. The random wait keeps the requests that lost
 * from conflicting with each other again.
 */
async function untilNoConflict(retries: number, attempt: () => Promise<Outcome>): Promise<Outcome> {
  for (let tries = 1; ; tries++) {
    const outcome = await attempt();
    const isConflict = outcome.kind === 'refused' && outcome.reason === 'conflict';
    if (isConflict && tries <= retries) await sleep(Math.random() * 10 * 2 ** Math.min(tries, 6));
    else return outcome.kind === 'accepted' ? { ...outcome, tries } : outcome;
  }
}

/**
 * A unique key refused the row. Either the user has another order, or this order's id exists
 * already; the second is an error.
 */
async function refusedByRails(pool: Pool, order: Order, error: unknown): Promise<Outcome> {
  const other = await orderOf(pool, order);
  if (other === undefined || other === order.id) throw error;
  record('duplicate', order);
  return refused('already-ordered', other);
}

/** The id of the user's order for this voucher, if there is one. */
export async function orderOf(db: Queryable, order: Order): Promise<string | undefined> {
  const [row] = await select<{ id: string }>(
    db,
    'SELECT CAST(id AS CHAR) AS id FROM orders ' +
      "WHERE voucher_id = ? AND user_id = ? AND status = 'confirmed' LIMIT 1",
    [order.voucherId, order.userId],
  );
  return row?.id;
}

export async function insertOrder(db: Queryable, order: Order, voucher: Voucher): Promise<void> {
  await change(
    db,
    'INSERT INTO orders (id, voucher_id, user_id, request_id, one_per_user) VALUES (?, ?, ?, ?, ?)',
    [order.id, order.voucherId, order.userId, order.requestId, hasRails(voucher) ? 1 : null],
  );
}
