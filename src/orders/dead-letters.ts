/** An order that can never be recorded: the database decides first, then stock and buyer are given back, once. */
import type { Redis } from 'ioredis';
import { change, isDuplicateKey, type Pool, select } from '../connections/mysql.ts';
import { saleKeys } from '../connections/sale-keys.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import type { Order } from '../domain.ts';

export type DeadLetterReason = 'stock-short' | 'user-has-another-order' | 'undeliverable';

const giveBack = loadScript('give-back');

/**
 * Inserts the order's failed row (a tombstone: a paused worker that wakes later finds its id taken), and only if that
 * row is what the database holds, undoes the purchase in Redis. Safe to repeat after a crash at any point.
 */
export async function deadLetter(
  pool: Pool,
  redis: Redis,
  order: Order,
  reason: DeadLetterReason,
): Promise<void> {
  const { id, voucherId, userId, requestId } = order;
  await change(
    pool,
    `INSERT INTO orders (id, voucher_id, user_id, request_id, status, reason) VALUES (?, ?, ?, ?, 'failed', ?)`,
    [id, voucherId, userId, requestId, reason],
  ).catch((error: unknown) => {
    if (!isDuplicateKey(error)) throw error;
  });
  const [row] = await select<{ status: string }>(pool, 'SELECT status FROM orders WHERE id = ?', [id]);
  if (row?.status !== 'failed') return; // Somebody recorded it after all.
  const keys = [saleKeys.voucher(voucherId), saleKeys.buyers(voucherId), saleKeys.dead];
  await runScript(redis, giveBack, keys, [id, voucherId, userId, reason]);
}
