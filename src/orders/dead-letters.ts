/**
 * Dead-letters an order that can never be recorded: first MySQL stores the order as failed, then
 * one script returns the stock and removes the buyer, once.
 */
import type { Redis } from 'ioredis';
import { change, isDuplicateKey, isRowRefused, type Pool, select } from '../connections/mysql.ts';
import type { SaleKeys } from '../connections/sale-keys.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { isId, type Order } from '../domain.ts';
import type { Poison } from '../queues/order-queue.ts';

export type DeadLetterReason =
  | 'stock-short'
  | 'user-has-another-order'
  | 'id-belongs-to-another-order'
  | 'undeliverable'
  | 'malformed';

const giveBack = loadScript('sale/give-back');

/**
 * Inserts the order's failed row, a tombstone: a paused worker that resumes later finds the id
 * taken. Only if MySQL has that row, the purchase is undone in Redis. Safe to repeat after a crash
 * at any point.
 */
export async function deadLetter(
  pool: Pool,
  redis: Redis,
  saleKeys: SaleKeys,
  order: Order,
  reason: DeadLetterReason,
): Promise<void> {
  if (reason !== 'id-belongs-to-another-order') {
    const isFailed = await insertTombstone(pool, order, reason);
    if (!isFailed) return;
  }
  const { id, voucherId, userId } = order;
  const shard = saleKeys.of(voucherId);
  const keys = [shard.voucher(voucherId), shard.buyers(voucherId), shard.dead];
  // `stock-short`: MySQL has no stock left, so Redis had too much, and none is returned to it.
  const stock = reason === 'stock-short' ? '0' : '1';
  const buyer = reason === 'user-has-another-order' ? await otherOrder(pool, order) : '';
  await runScript(redis, giveBack, keys, [id, voucherId, userId, reason, stock, buyer]);
}

/**
 * For an entry that is not an order: its user and voucher are those that were noted when the order
 * was accepted. The purchase is undone only if the buyers' hash has this order for this user. The
 * queue moves the entry to the dead letters itself.
 */
export async function deadLetterPoison(
  pool: Pool,
  redis: Redis,
  saleKeys: SaleKeys,
  { orderId: id, noted }: Poison,
): Promise<void> {
  if (id === undefined || !noted) return; // Nothing shows that stock was taken for it.
  const { voucherId, userId } = noted;
  if (!isId(voucherId)) return;
  // Under another id, MySQL can never have this order: it needs no tombstone.
  if (isId(id)) {
    const order = { id, voucherId, userId: isId(userId) ? userId : nobody, requestId: '' };
    if (!(await insertTombstone(pool, order, 'malformed'))) return;
  }
  const shard = saleKeys.of(voucherId);
  const keys = [shard.voucher(voucherId), shard.buyers(voucherId), shard.dead];
  await runScript(redis, giveBack, keys, [id, voucherId, userId, '', '1', '']);
}

/** No voucher and no user has this id. */
const nobody = '0';

/**
 * MySQL may refuse a column of the order, and then it refuses it here too: the id alone is enough.
 * @returns false when another worker has recorded the order.
 */
async function insertTombstone(
  pool: Pool,
  order: Order,
  reason: DeadLetterReason,
): Promise<boolean> {
  const { id } = order;
  await insertFailed(pool, order, reason).catch((error: unknown) => {
    if (!isRowRefused(error)) throw error;
    const anonymous = { id, voucherId: nobody, userId: nobody, requestId: '' };
    return insertFailed(pool, anonymous, reason);
  });
  const [row] = await select<{ status: string }>(pool, 'SELECT status FROM orders WHERE id = ?', [
    id,
  ]);
  return row?.status === 'failed';
}

async function insertFailed(pool: Pool, order: Order, reason: DeadLetterReason): Promise<void> {
  const { id, voucherId, userId, requestId } = order;
  await change(
    pool,
    'INSERT INTO orders (id, voucher_id, user_id, request_id, status, reason) ' +
      "VALUES (?, ?, ?, ?, 'failed', ?)",
    [id, voucherId, userId, requestId, reason],
  ).catch((error: unknown) => {
    if (!isDuplicateKey(error)) throw error;
  });
}

/** The user's other order, as the buyers' hash stores it: it stays this user's purchase. */
async function otherOrder(pool: Pool, { voucherId, userId }: Order): Promise<string> {
  const [row] = await select<{ buyer: string }>(
    pool,
    "SELECT CONCAT(id, ':', request_id) AS buyer FROM orders " +
      "WHERE voucher_id = ? AND user_id = ? AND status = 'confirmed'",
    [voucherId, userId],
  );
  return row?.buyer ?? '';
}
