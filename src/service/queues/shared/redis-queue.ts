/** What the Redis queues share: a consumer for each shard, depths, and refused commands. */
import type { Redis } from 'ioredis';
import { whenReady } from '../../connections/redis.ts';
import type { SaleKeys, ShardKeys } from '../../connections/sale-keys.ts';
import type { Handle, Hooks, OrderQueue } from '../order-queue.ts';
import { type ConsumerHooks, type DeliverOptions, deliverFrom, type Source } from './deliver.ts';
import { addDeadLetter, type Entry, notedAbout } from './order-fields.ts';

export interface RedisQueueOptions extends DeliverOptions {
  /** Makes the connection that a consumer blocks. */
  readonly newConsumer: () => Redis;
}

type OpenSource<E extends Entry> = (
  shard: ShardKeys,
  blocking: Redis,
) => Promise<Source<E>> | Source<E>;

/** The hooks of a queue, for the consumer with this number. */
export const ofConsumer = ({ discard, onTurn, onSettled }: Hooks, consumer: number) =>
  ({
    discard,
    onTurn: (entries: number) => onTurn?.(consumer, entries),
    onSettled: (entries: number) => onSettled?.(consumer, entries),
  }) satisfies ConsumerHooks;

/**
 * One consumer for each shard: XREAD and the like block a connection, and shards may be on
 * different masters. A queue with `oldest` is watched.
 */
export function consumeShards<E extends Entry>(
  redis: Redis,
  keys: SaleKeys,
  options: RedisQueueOptions,
  open: OpenSource<E>,
  { isWatched = false } = {},
): OrderQueue['consume'] {
  const consumeShard = async (
    shard: ShardKeys,
    handle: Handle,
    signal: AbortSignal,
    hooks: ConsumerHooks,
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
      recover,
      ...source,
    };
    await deliverFrom(whole, handle, signal, hooks, options);
    blocking.disconnect();
  };
  return async (handle, signal, hooks = {}) => {
    const hooksOf = (consumer: number): ConsumerHooks =>
      isWatched ? ofConsumer(hooks, consumer) : { discard: hooks.discard };
    const consumers = keys.shards.map((shard, consumer) =>
      consumeShard(shard, handle, signal, hooksOf(consumer)),
    );
    await Promise.all(consumers);
  };
}

export async function depthOfShards(
  keys: SaleKeys,
  depthOf: (shard: ShardKeys) => Promise<number>,
): Promise<number> {
  const depths = await Promise.all(keys.shards.map(depthOf));
  return depths.reduce((sum, each) => sum + each, 0);
}

/** Settled entries are deleted, so the first one that is left waits longest. Null: none is. */
export async function firstEntry(redis: Redis, stream: string, from = '-'): Promise<string | null> {
  const [entry] = await redis.xrange(stream, from, '+', 'COUNT', 1);
  return entry?.[0] ?? null;
}

/** The error of the first command that Redis refused, in a transaction or a pipeline. */
export function throwFirst(results: [Error | null, unknown][] | null): unknown[] {
  for (const [error] of results ?? []) if (error) throw error;
  return (results ?? []).map(([, value]) => value);
}
