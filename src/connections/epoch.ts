/**
 * The epoch: the random name of one set of data, which MySQL and every shard of Redis carry. It is
 * written once, to MySQL first. When the two differ, a store was created again or belongs to
 * another service: voucher ids would repeat, and old sales would go on under new vouchers.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { EpochsDiffer } from '../errors.ts';
import type { Connections } from './connections.ts';
import { change, type Pool, select } from './mysql.ts';

const retryMs = 1_000;

/**
 * Compares the epochs, and gives one to each store that has none. Waits for a store that does not
 * answer, until `signal` aborts.
 * @throws EpochsDiffer
 */
export async function agreeOnEpoch(
  connections: Connections,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  connections.redis('admin');
  await connections.ready();
  while (!signal.aborted) {
    try {
      return await agreeOnce(connections, log);
    } catch (error) {
      if (error instanceof EpochsDiffer) throw error;
      log.warn({ event: 'waiting-for-stores', error: String(error) });
      await sleep(retryMs, undefined, { signal }).catch(() => {});
    }
  }
}

/**
 * A shard of Redis without an epoch gets that of MySQL, even when Redis has lost its data: the
 * vouchers that it lost are not ready for ever, and MySQL never gives a new voucher an old id.
 */
async function agreeOnce(connections: Connections, log: Logger): Promise<void> {
  const redis = connections.redis('admin');
  const keys = connections.saleKeys.shards.map(({ epoch }) => epoch);
  const read = () => Promise.all(keys.map((key) => redis.get(key)));
  const epoch = await epochOfMysql(connections.mysql());
  const before = await read();
  refuseOther(epoch, before);
  const missing = keys.filter((_, shard) => before[shard] === null);
  if (missing.length > 0 && (await hasVouchers(connections.mysql())))
    log.error({ event: 'redis-has-no-epoch', shards: missing, meaning: redisIsNew });
  for (const key of missing) await redis.setnx(key, epoch);
  refuseOther(epoch, await read()); // Another service may have been faster.
}

const redisIsNew =
  'MySQL has vouchers, but Redis has no epoch: either this is the first start of this version, or ' +
  'Redis has lost its data. Then the orders that were queued are lost, and the vouchers of MySQL ' +
  'stay not-ready. New vouchers are sold. If Redis has a backup, stop the service and restore it.';

/** @throws EpochsDiffer */
function refuseOther(epoch: string, ofShards: readonly (string | null)[]): void {
  const other = ofShards.find((found) => found !== null && found !== epoch);
  if (other) throw new EpochsDiffer(epoch, other);
}

async function epochOfMysql(pool: Pool): Promise<string> {
  await change(pool, 'INSERT IGNORE INTO store_epoch (id, value) VALUES (1, ?)', [randomUUID()]);
  const [row] = await select<{ value: string }>(pool, 'SELECT value FROM store_epoch');
  return row?.value ?? '';
}

async function hasVouchers(pool: Pool): Promise<boolean> {
  return (await select(pool, 'SELECT id FROM vouchers LIMIT 1')).length > 0;
}
