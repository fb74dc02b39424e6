/**
 * Fences: numbers that grow with every lease of a resource. MySQL gives them and checks them, in
 * one row for each resource. So it does not matter what a lock service forgets.
 */
import type { ResultSetHeader } from 'mysql2';
import { StaleFence } from '../errors.ts';
import { change, type Pool, type PoolConnection } from './mysql.ts';

/**
 * Closes every fence of the resource that was given before. Waits for a transaction that has closed
 * its own fence and is not over: its write comes first.
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
 * Closes this fence: it has written. The last statement of a transaction, because a newer lease may
 * be granted until then; from then on the row is locked, and none can.
 * @throws StaleFence when the fence is closed already
 */
export async function closeFence(
  db: PoolConnection,
  resource: string,
  fence: string,
): Promise<void> {
  const closed = await change(
    db,
    'UPDATE fences SET closed = ? WHERE resource = ? AND closed < ?',
    [fence, resource, fence],
  );
  if (closed === 0) throw new StaleFence(resource, fence);
}
