/**
 * The epoch: the random name of one set of data, which MySQL and every shard of Redis carry. It is
 * written once, to MySQL first. When the two differ, a store was created again or belongs to
 * another service: voucher ids would repeat, and old sales would go on under new vouchers.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { shardsMax } from '../domain.ts';
import { serviceError } from '../errors.ts';
import { type Connections, readEpoch } from './connections.ts';
import { change, type Pool, type PoolConnection, select } from './mysql.ts';
import { saleKeys } from './sale-keys.ts';

/**
 * Compares the epochs, and gives one to each store that has none. A shard of Redis without an epoch
 * gets that of MySQL, even when Redis has lost its data: the vouchers that it lost are not ready
 * for ever, and MySQL never gives a new voucher an old id.
 * @throws EPOCHS_DIFFER or SALE_SHARDS_DIFFER
 */
export async function agreeOnEpoch(connections: Connections, log: Logger): Promise<void> {
  const redis = connections.redis('admin');
  await connections.ready();
  await agreeOnShards(connections);
  const keys = connections.saleKeys.shards.map(({ epoch }) => epoch);
  const read = () => Promise.all(keys.map((key) => redis.get(key)));
  const epoch = await epochOfMysql(connections.mysql());
  const replaced = await readEpoch(connections.mysql(), 'replaced');
  const before = await read();
  refuseOther([epoch, replaced], before);
  const missing = keys.filter((_, shard) => before[shard] === null);
  const anyVoucher = 'SELECT id FROM vouchers LIMIT 1';
  if (missing.length > 0 && (await select(connections.mysql(), anyVoucher)).length > 0)
    log.error({ event: 'redis-has-no-epoch', shards: missing, meaning: redisIsNew });
  for (const key of missing) await redis.setnx(key, epoch);
  const after = await read();
  refuseOther([epoch, replaced], after); // Another service may have been faster.
  if (isUnfinished(epoch, after))
    log.warn({ event: 'redis-is-being-rebuilt', meaning: notRebuiltYet });
  connections.epoch.set(epoch);
}

/**
 * While MySQL is away, a process sells what Redis has: its epoch was compared before it was
 * written.
 * @returns false when Redis has no epoch, or is being rebuilt: then only MySQL can tell.
 */
export async function trustRedis(connections: Connections): Promise<boolean> {
  const redis = connections.redis('admin');
  await connections.ready();
  await refuseOtherShards(connections);
  const keys = connections.saleKeys.shards.map(({ epoch }) => epoch);
  const [first, ...others] = await Promise.all(keys.map((key) => redis.get(key)));
  const isOne = others.every((epoch) => epoch === first);
  if (!first || !isOne || first.startsWith(rebuilding)) return false;
  connections.epoch.set(first);
  return true;
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

/** @throws EPOCHS_DIFFER when they belong to different data; SALE_SHARDS_DIFFER */
export async function epochsOf(connections: Connections): Promise<Epochs> {
  const redis = connections.redis('admin');
  await refuseOtherShards(connections);
  const ofMysql = await readEpoch(connections.mysql());
  const replaced = await readEpoch(connections.mysql(), 'replaced');
  const found = await Promise.all(connections.saleKeys.shards.map(({ epoch }) => redis.get(epoch)));
  refuseOther([ofMysql, replaced], found);
  const ofRedis = found.includes(null) ? '' : (found[0] ?? '');
  return { ofMysql, ofRedis, isRebuilding: isUnfinished(ofMysql, found) };
}

type EpochOfShard = string | null;

/** Before the epoch that Redis has after its rebuild. */
export const rebuilding = 'rebuilding:';

/**
 * A shard may also have the epoch that MySQL had before its last rebuild: Redis failed over during
 * the rebuild, to a replica that had not heard of it.
 * @throws EPOCHS_DIFFER
 */
function refuseOther(known: readonly [string, string], ofShards: readonly EpochOfShard[]): void {
  const isOther = (found: EpochOfShard) =>
    found !== null && !known.includes(found) && !found.startsWith(rebuilding);
  const other = ofShards.find(isOther);
  if (other) throw serviceError('EPOCHS_DIFFER', known[0], other);
}

/** Of shards that belong to these data: whether a rebuild must come to its end, or be repeated. */
const isUnfinished = (epoch: string, ofShards: readonly EpochOfShard[]): boolean =>
  ofShards.some((found) => found !== null && found !== epoch);

/** Waits for the transactions that record orders. @returns false when MySQL has another epoch. */
export async function replaceEpoch(pool: Pool, old: string, epoch: string): Promise<boolean> {
  await change(pool, 'REPLACE INTO store_epoch (id, value) VALUES (2, ?)', [old]);
  const update = 'UPDATE store_epoch SET value = ? WHERE id = 1 AND value = ?';
  return (await change(pool, update, [epoch, old])) === 1;
}

/**
 * Until this transaction is over, MySQL keeps its epoch: a rebuild of Redis waits for it, and then
 * finds what it wrote.
 * @throws EPOCH_OVER
 */
export async function stayInEpoch(db: PoolConnection, epoch: string): Promise<void> {
  const [row] = await select<{ value: string }>(
    db,
    'SELECT value FROM store_epoch WHERE id = 1 LOCK IN SHARE MODE',
  );
  if (row?.value !== epoch) throw serviceError('EPOCH_OVER', epoch);
}

/** It is written only when it is missing: a process also starts while MySQL is read-only. */
async function epochOfMysql(pool: Pool): Promise<string> {
  const known = await readEpoch(pool);
  if (known !== '') return known;
  await change(pool, 'INSERT IGNORE INTO store_epoch (id, value) VALUES (1, ?)', [randomUUID()]);
  return readEpoch(pool);
}

/**
 * The number of shards that Redis was filled with, in its first shard beside the epoch. With
 * another number, sales would be looked for in another shard, and the orders of a shard that is
 * left out would never be recorded. At a start: a Redis without a number gets that of this process.
 * @throws SALE_SHARDS_DIFFER
 */
async function agreeOnShards(connections: Connections): Promise<void> {
  const { redis, key, count } = placeOf(connections);
  if ((await redis.get(key)) === null) {
    const filled = await filledShards(connections);
    if (filled > 0 && filled !== Number(count))
      throw serviceError('SALE_SHARDS_DIFFER', count, `${filled}`, key);
    await redis.setnx(key, count);
  }
  await refuseOtherShards(connections); // Another service may have been faster.
}

/** By their epochs: older versions did not keep the number. */
async function filledShards(connections: Connections): Promise<number> {
  const redis = connections.redis('admin');
  const { shards } = saleKeys(shardsMax);
  const found = await Promise.all(shards.map(({ epoch }) => redis.exists(epoch)));
  return found.lastIndexOf(1) + 1;
}

/** For a command: nothing is written. @throws SALE_SHARDS_DIFFER */
export async function refuseOtherShards(connections: Connections): Promise<void> {
  const { redis, key, count } = placeOf(connections);
  const found = await redis.get(key);
  if (found !== null && found !== count)
    throw serviceError('SALE_SHARDS_DIFFER', count, found, key);
}

function placeOf(connections: Connections) {
  const { config, saleKeys } = connections;
  const [first] = saleKeys.shards;
  if (!first) throw new RangeError('there is at least one shard');
  return {
    redis: connections.redis('admin'),
    key: first.shardCount,
    count: String(config.SALE_SHARDS),
  };
}
