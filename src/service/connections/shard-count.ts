/**
 * The number of shards that Redis was filled with, in its first shard beside the epoch. With
 * another number, sales would be looked for in another shard, and the orders of a shard that is
 * left out would never be recorded.
 */

import { shardsMax } from '../domain.ts';
import { serviceError } from '../errors.ts';
import type { Connections } from './connections.ts';
import { saleKeys } from './sale-keys.ts';

/** At a start: a Redis without a number gets that of this process. @throws SALE_SHARDS_DIFFER */
export async function agreeOnShards(connections: Connections): Promise<void> {
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
