/**
 * Idea. A Redis list: LPUSH at one end, and a consumer pops from the other (BLMPOP: BRPOP with a
 *   count).
 * Holds while. The consumer lives from the pop until its orders are recorded. At a stop in order,
 *   it pushes them back.
 * Breaks when. The consumer dies, or the answer of the pop is lost: the order is in no list and in
 *   no database.
 * Source. The course notes' first queue in Redis, BRPOP; Redis, "LMPOP".
 */
import type { Redis } from 'ioredis';
import { blockMsMax } from '../connections/redis.ts';
import type { SaleKeys } from '../connections/sale-keys.ts';
import type { OrderQueue } from './order-queue.ts';
import type { Source } from './shared/deliver.ts';
import { asEntry, asText, type Entry } from './shared/order-fields.ts';
import { consumeShards, depthOfShards, type RedisQueueOptions } from './shared/redis-queue.ts';

const name = 'list';

export function redisListQueue(
  redis: Redis,
  keys: SaleKeys,
  options: RedisQueueOptions,
): OrderQueue {
  return {
    async publish(order) {
      await redis.lpush(keys.of(order.voucherId).queue(name), asText(order));
    },
    consume: consumeShards(redis, keys, options, (shard, blocking) =>
      listSource(redis, blocking, shard.queue(name)),
    ),
    depth: () => depthOfShards(keys, (shard) => redis.llen(shard.queue(name))),
  };
}

function listSource(redis: Redis, blocking: Redis, list: string): Source<Entry> {
  async function pop(most: number, mayWait: boolean): Promise<string[]> {
    if (!mayWait) return (await redis.rpop(list, most)) ?? [];
    const answer = await blocking.blmpop(blockMsMax / 1_000, 1, list, 'RIGHT', 'COUNT', most);
    return (answer as [string, string[]] | null)?.[1] ?? [];
  }
  return {
    take: async (most, inHand) => (await pop(most, inHand.length === 0)).map(asEntry),
    settle: async () => {}, // The pop has removed them.
    async handBack(left) {
      if (left.length === 0) return;
      await redis.rpush(list, ...left.map(({ text }) => text).toReversed());
    },
  };
}
