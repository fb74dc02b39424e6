/** What every sale in one MySQL transaction shares: commit, roll back, and say which of the three outcomes it was. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connections } from '../connections/connections.ts';
import {
  change,
  isContention,
  isDuplicateKey,
  type Pool,
  type PoolConnection,
  select,
  transaction,
} from '../connections/mysql.ts';
import { type Order, type Outcome, refused, type Voucher } from '../domain.ts';
import { CommitUnknown, LeaseLost } from '../errors.ts';
import type { Lease } from '../locks/lock.ts';
import type { Inventory } from './inventory.ts';

/** The part in which the rungs differ. A refusal is rolled back, `'sold'` is committed. */
export type Sale = (db: PoolConnection, order: Order, voucher: Voucher) => Promise<'sold' | Outcome>;

export function sqlInventory(connections: Connections, sale: Sale): Inventory {
  const pool = connections.mysql();
  return {
    clock: 'instance',
    prepare: async () => {}, // The stock row is the whole inventory, and is made together with the voucher.
    sell: (order, voucher, lease) => sell(pool, sale, order, voucher, lease),
    remaining: async (voucherId) => {
      const [row] = await select<{ stock: number }>(
        pool,
        'SELECT stock FROM seckill_stock WHERE voucher_id = ?',
        [voucherId],
      );
      return row?.stock ?? 0;
    },
  };
}

/** A refusal travels as an error inside the transaction, because leaving it must roll back. */
class Refusal extends Error {
  readonly outcome: Outcome;
  constructor(outcome: Outcome) {
    super('refused');
    this.outcome = outcome;
  }
}

async function sell(pool: Pool, sale: Sale, order: Order, voucher: Voucher, lease: Lease): Promise<Outcome> {
  try {
    await transaction(pool, 'READ COMMITTED', async (db) => {
      const result = await sale(db, order, voucher);
      if (result !== 'sold') throw new Refusal(result);
      lease.signal.throwIfAborted(); // The last look before the commit: are we still alone?
    });
    return { kind: 'accepted', orderId: order.id, status: 'confirmed' };
  } catch (error) {
    if (error instanceof Refusal) return error.outcome;
    if (error instanceof CommitUnknown) return { kind: 'unknown', orderId: order.id, cause: error };
    if (error instanceof LeaseLost) return refused('lease-lost');
    if (isContention(error)) return refused('busy');
    if (isDuplicateKey(error)) return refusedByRails(pool, order, error);
    throw error;
  }
}

/** The database refused the row: the user's other order, unless it was this order's own id. */
async function refusedByRails(pool: Pool, order: Order, error: unknown): Promise<Outcome> {
  const other = await orderOf(pool, order);
  if (other === undefined || other === order.id) throw error;
  return refused('already-ordered', other);
}

/** The id of the order that this user has for this voucher, if there is one. */
export async function orderOf(db: Pool | PoolConnection, order: Order): Promise<string | undefined> {
  const [row] = await select<{ id: string }>(
    db,
    `SELECT CAST(id AS CHAR) AS id FROM orders WHERE voucher_id = ? AND user_id = ? AND status = 'confirmed' LIMIT 1`,
    [order.voucherId, order.userId],
  );
  return row?.id;
}

export async function insertOrder(db: PoolConnection, order: Order, voucher: Voucher): Promise<void> {
  await change(
    db,
    'INSERT INTO orders (id, voucher_id, user_id, request_id, one_per_user) VALUES (?, ?, ?, ?, ?)',
    [order.id, order.voucherId, order.userId, order.requestId, voucher.rails ? 1 : null],
  );
}

/** What a real sale does between its check and its write; in the lab a wait of `workMs`, so that races show every time. */
export async function work(voucher: Voucher): Promise<void> {
  if (voucher.workMs > 0) await sleep(voucher.workMs);
}
