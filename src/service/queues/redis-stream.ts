/**
 * Idea. A stream that one consumer reads by itself (XREAD), without a group. It starts at new
 *   entries; or, as a second rung, after the last id that it stored when the entries up to there
 *   were settled.
 * Holds while. From new entries: the consumer lives, and its memory has the last id. From the last
 *   id: there is one consumer. Each order is then delivered at least once.
 * Breaks when. From new entries: what came while the consumer was away is never read, and what it
 *   had in hand is lost with it. With two consumers, each is given every order, and the one that
 *   is ahead stores the id of entries that the other has not settled.
 * Source. Redis, "Streams"; the course notes' third queue in Redis, XREAD (they name no
 *   first id; `$` is ours).
 */
import type { Redis } from 'ioredis';
import { blockMsMax } from '../connections/redis.ts';
import type { SaleKeys, ShardKeys } from '../connections/sale-keys.ts';
import type { OrderQueue } from './order-queue.ts';
import type { Source } from './shared/deliver.ts';
import { asFields, type Entry, noteQueued, orderIdOf, readOrder } from './shared/order-fields.ts';
import {
  consumeShards,
  depthOfShards,
  firstEntry,
  type RedisQueueOptions,
  throwFirst,
} from './shared/redis-queue.ts';

export interface StreamOptions extends RedisQueueOptions {
  readonly from: 'new' | 'last-id';
}

interface StreamEntry extends Entry {
  readonly entryId: string;
}
type Answer = [stream: string, entries: [id: string, fields: string[]][]][] | null;

const streamOf = ({ queue }: ShardKeys, from: StreamOptions['from']): string =>
  queue(`stream-from-${from}`);
const lastIdOf = ({ queue }: ShardKeys): string => queue('stream-last-id');

export function redisStreamQueue(redis: Redis, keys: SaleKeys, options: StreamOptions): OrderQueue {
  const { from } = options;
  return {
    async publish(order) {
      const shard = keys.of(order.voucherId);
      const publication = redis.multi();
      // Only a queue that keeps the order may tell its user that it is queued.
      if (from === 'last-id') noteQueued(publication, shard, order);
      throwFirst(await publication.xadd(streamOf(shard, from), '*', ...asFields(order)).exec());
    },
    consume: consumeShards<StreamEntry>(
      ...([redis, keys, options] as const),
      (shard, blocking) => streamSource(redis, blocking, shard, from),
      { isWatched: from === 'last-id' },
    ),
    ...(from === 'last-id' && {
      oldest: () => Promise.all(keys.shards.map((shard) => oldestOf(redis, shard))),
    }),
    depth: () => depthOfShards(keys, (shard) => redis.xlen(streamOf(shard, from))),
  };
}

/** The oldest entry after the last id; an entry that the consumer passed over stays for ever. */
async function oldestOf(redis: Redis, shard: ShardKeys): Promise<string | null> {
  const settledTo = (await redis.get(lastIdOf(shard))) ?? '0-0';
  return firstEntry(redis, streamOf(shard, 'last-id'), `(${settledTo}`);
}

/** `$` as an id: later reads go on after it, also when entries came between two reads. */
async function newestId(redis: Redis, stream: string): Promise<string> {
  const [newest] = await redis.xrevrange(stream, '+', '-', 'COUNT', 1);
  return newest?.[0] ?? '0-0';
}

function streamSource(
  redis: Redis,
  blocking: Redis,
  shard: ShardKeys,
  from: StreamOptions['from'],
): Source<StreamEntry> {
  const stream = streamOf(shard, from);
  let lastId: string | undefined;

  const start = async () =>
    from === 'new' ? newestId(redis, stream) : ((await redis.get(lastIdOf(shard))) ?? '0-0');

  return {
    async take(most, inHand) {
      lastId ??= await start();
      const options = ['COUNT', most] as const;
      const answer = (await (inHand.length > 0
        ? redis.xread(...options, 'STREAMS', stream, lastId)
        : blocking.xread(...options, 'BLOCK', blockMsMax, 'STREAMS', stream, lastId))) as Answer;
      const entries = answer?.[0]?.[1] ?? [];
      lastId = entries.at(-1)?.[0] ?? lastId;
      return entries.map(([entryId, fields]) => {
        return { entryId, text: JSON.stringify(fields), read: readOrder(fields) };
      });
    },
    async settle(done, left) {
      const removal = redis.pipeline().xdel(stream, ...done.map(({ entryId }) => entryId));
      if (from === 'last-id') removal.hdel(shard.queued, ...done.map(orderIdOf));
      if (from === 'last-id' && left.length === 0) removal.set(lastIdOf(shard), lastId ?? '0-0');
      throwFirst(await removal.exec());
    },
    handBack: async () => {}, // They are still in the stream.
  };
}
