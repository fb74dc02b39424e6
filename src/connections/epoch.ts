/**
 * The epoch: the random name of one set of data, which MySQL and every shard of Redis carry. It is
 * written once, to MySQL first. When the two differ, a store was created again or belongs to
 * another service: voucher ids would repeat, and old sales would go on under new vouchers.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { EpochsDiffer } from '../errors.ts';
import { type Connections, readEpoch } from './connections.ts';
import { change, type Pool, select } from './mysql.ts';

/**
 * Compares the epochs, and gives one to each store that has none. A shard of Redis without an epoch
 * gets that of MySQL, even when Redis has lost its data: the vouchers that it lost are not ready
 * for ever, and MySQL never gives a new voucher an old id.
 * @throws EpochsDiffer
 */
export async function agreeOnEpoch(connections: Connections, log: Logger): Promise<void> {
  const redis = connections.redis('admin');
  await connections.ready();
  const keys = connections.saleKeys.shards.map(({ epoch }) => epoch);
  const read = () => Promise.all(keys.map((key) => redis.get(key)));
  const epoch = await epochOfMysql(connections.mysql());
  const before = await read();
  refuseOther(epoch, before);
  const missing = keys.filter((_, shard) => before[shard] === null);
  if (missing.length > 0 && (await hasVouchers(connections.mysql())))
    log.error({ event: 'redis-has-no-epoch', shards: missing, meaning: redisIsNew });
  for (const key of missing) await redis.setnx(key, epoch);
  const after = await read();
  refuseOther(epoch, after); // Another service may have been faster.
  if (after.some(isRebuilt)) log.warn({ event: 'redis-is-being-rebuilt', meaning: notRebuiltYet });
  connections.epoch.set(epoch);
}

const redisIsNew =
  'MySQL has vouchers, but Redis has no epoch: either this is the first start of this version, or ' +
  'Redis has lost its data. Then the vouchers of MySQL stay not-ready until Redis is rebuilt, and ' +
  'new vouchers are sold. If Redis has a backup, stop the service and restore it first.';

const notRebuiltYet =
  'Nothing is sold until the rebuild is done. If no rebuild runs, start it again.';

export interface Epochs {
  readonly ofMysql: string;
  /** Empty when a shard has none. */
  readonly ofRedis: string;
  /** A rebuild runs, or did not come to its end. */
  readonly isRebuilding: boolean;
}

/** @throws EpochsDiffer when they belong to different data. */
export async function epochsOf(connections: Connections): Promise<Epochs> {
  const redis = connections.redis('admin');
  const ofMysql = await readEpoch(connections.mysql());
  const found = await Promise.all(connections.saleKeys.shards.map(({ epoch }) => redis.get(epoch)));
  refuseOther(ofMysql, found);
  const ofRedis = found.includes(null) ? '' : (found[0] ?? '');
  return { ofMysql, ofRedis, isRebuilding: found.some(isRebuilt) };
}

/** Before the epoch that Redis has after its rebuild. */
export const rebuilding = 'rebuilding:';
const isRebuilt = (epoch: string | null): boolean => epoch?.startsWith(rebuilding) ?? false;

/** @throws EpochsDiffer */
function refuseOther(epoch: string, ofShards: readonly (string | null)[]): void {
  const isOther = (found: string | null) => found !== null && found !== epoch && !isRebuilt(found);
  const other = ofShards.find(isOther);
  if (other) throw new EpochsDiffer(epoch, other);
}

/** It is written only when it is missing: a process also starts while MySQL is read-only. */
async function epochOfMysql(pool: Pool): Promise<string> {
  const known = await readEpoch(pool);
  if (known !== '') return known;
  await change(pool, 'INSERT IGNORE INTO store_epoch (id, value) VALUES (1, ?)', [randomUUID()]);
  return readEpoch(pool);
}

async function hasVouchers(pool: Pool): Promise<boolean> {
  return (await select(pool, 'SELECT id FROM vouchers LIMIT 1')).length > 0;
}
