/**
 * Fences: numbers that grow with every lease of a resource. MySQL checks them, in one row for each
 * resource. When MySQL gives them too, it does not matter what a lock service forgets.
 */

import type { Redis } from 'ioredis';
import type { ResultSetHeader } from 'mysql2';
import { serviceError } from '../errors.ts';
import { type Pool, type PoolConnection, select } from './mysql.ts';

/**
 * Closes every fence of the resource that was given before. Waits for a transaction that has
 * checked its own fence and is not over: its write comes first.
 * @returns the next fence
 */
export async function nextFence(pool: Pool, resource: string): Promise<string> {
  const [{ insertId }] = await pool.execute<ResultSetHeader>(
    'INSERT INTO fences (resource, closed) VALUES (?, LAST_INSERT_ID(0)) ' +
      'ON DUPLICATE KEY UPDATE closed = LAST_INSERT_ID(closed + 1)',
    [resource],
  );
  return String(BigInt(insertId) + 1n);
}

/**
 * Counts the fence in Redis, and closes every smaller one in MySQL. A Redis that has lost the count
 * gives the same fence again.
 * @returns the next fence
 */
export async function nextFenceOfRedis(
  redis: Redis,
  pool: Pool,
  resource: string,
): Promise<string> {
  const fence = BigInt(await redis.incr(`fence:${resource}`));
  const closed = String(fence - 1n);
  await pool.execute(
    'INSERT INTO fences (resource, closed) VALUES (?, ?) ' +
      'ON DUPLICATE KEY UPDATE closed = GREATEST(closed, ?)',
    [resource, closed, closed],
  );
  return String(fence);
}

/**
 * The last statement of a transaction, because a newer lease may be granted until then; from then
 * on the row is locked, and none can. A lease may write more than once.
 * @throws STALE_FENCE when the fence is closed
 */
export async function checkFence(
  db: PoolConnection,
  resource: string,
  fence: string,
): Promise<void> {
  const open = await select(
    db,
    'SELECT closed FROM fences WHERE resource = ? AND closed < ? FOR UPDATE',
    [resource, fence],
  );
  if (open.length === 0) throw serviceError('STALE_FENCE', resource, fence);
}
