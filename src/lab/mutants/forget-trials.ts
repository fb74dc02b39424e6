/**
 * Removes the vouchers of all trials from both stores: a mutant damages its voucher on purpose, and
 * `reconcile` would find that in the lab afterwards.
 */
import type { Connections } from '../../service/connections/connections.ts';
import { type RowDataPacket, select } from '../../service/connections/mysql.ts';
import type { ShardKeys } from '../../service/connections/sale-keys.ts';
import { fieldOf } from '../../service/queues/shared/order-fields.ts';

/** The title of a trial's voucher begins with it. */
export const trialTitle = 'mutants, ';

/** No process of a mutant runs any more. */
export async function forgetTrials(connections: Connections): Promise<void> {
  const pool = connections.mysql();
  const rows = await select<RowDataPacket & { id: string }>(
    pool,
    'SELECT CAST(id AS CHAR) AS id FROM vouchers WHERE title LIKE ?',
    [`${trialTitle}%`],
  );
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return;
  for (const table of ['orders', 'seckill_stock', 'lab_options'])
    await pool.query(`DELETE FROM ${table} WHERE voucher_id IN (?)`, [ids]);
  await pool.query('DELETE FROM vouchers WHERE id IN (?)', [ids]);
  for (const shard of connections.saleKeys.shards) await forgetIn(connections, shard, ids);
}

async function forgetIn(
  connections: Connections,
  { voucher, buyers, about, orders, dead, queued }: ShardKeys,
  ids: readonly string[],
): Promise<void> {
  const redis = connections.redis('admin');
  for (const id of ids) await redis.unlink(voucher(id), buyers(id), about(id));
  for (const stream of [orders, dead])
    for (const [entryId, fields] of await redis.xrange(stream, '-', '+'))
      if (ids.includes(fieldOf(fields, 'voucherId') ?? '')) await redis.xdel(stream, entryId);
  for (const [orderId, note] of Object.entries(await redis.hgetall(queued)))
    if (ids.includes(note.split(':')[0] ?? '')) await redis.hdel(queued, orderId);
}
