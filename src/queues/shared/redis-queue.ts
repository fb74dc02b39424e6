/** What the Redis queues share: a consumer for each shard, depths, and refused commands. */
import type { Redis } from 'ioredis';
import { whenReady } from '../../connections/redis.ts';
import type { SaleKeys, ShardKeys } from '../../connections/sale-keys.ts';
import type { Handle, Hooks, OrderQueue } from '../order-queue.ts';
import { type DeliverOptions, deliverFrom, type Entry, type Source } from './deliver.ts';
import { addDeadLetter, notedAbout } from './order-text.ts';

export interface RedisQueueOptions extends DeliverOptions {
  /** Makes the connection that a consumer blocks. */
  readonly newConsumer: () => Redis;
}

type OpenSource<E extends Entry> = (
  shard: ShardKeys,
  blocking: Redis,
) => Promise<Source<E>> | Source<E>;

/** XREAD and the like block a connection, and shards may be on different masters. */
export function consumeShards<E extends Entry>(
  redis: Redis,
  keys: SaleKeys,
  options: RedisQueueOptions,
  open: OpenSource<E>,
): OrderQueue['consume'] {
  const consumeShard = async (
    shard: ShardKeys,
    handle: Handle,
    signal: AbortSignal,
    hooks: Hooks,
  ) => {
    const blocking = options.newConsumer();
    await whenReady(blocking, 2_000);
    const source = await open(shard, blocking);
    const recover = async () => {
      await Promise.all([redis, blocking].map((client) => whenReady(client, 500)));
    };
    const whole: Source<E> = {
      noted: (entry) => notedAbout(redis, shard, entry),
      moveToDead: (entry, letter) => addDeadLetter(redis, shard, entry, letter),
      ...{ recover, ...source },
    };
    await deliverFrom(whole, handle, signal, hooks, options);
    blocking.disconnect();
  };
  return async (handle, signal, hooks = {}) => {
    await Promise.all(keys.shards.map((shard) => consumeShard(shard, handle, signal, hooks)));
  };
}

/** The sum over all shards. */
export async function depthOfShards(
  keys: SaleKeys,
  depthOf: (shard: ShardKeys) => Promise<number>,
): Promise<number> {
  const depths = await Promise.all(keys.shards.map(depthOf));
  return depths.reduce((sum, each) => sum + each, 0);
}

/** The error of the first command that Redis refused, in a transaction or a pipeline. */
export function throwFirst(results: [Error | null, unknown][] | null): unknown[] {
  for (const [error] of results ?? []) if (error) throw error;
  return (results ?? []).map(([, value]) => value);
}
