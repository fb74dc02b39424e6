/**
 * Idea. A Redis list whose consumer moves an order to a list of its own (LMOVE), and removes it
 *   there once it is recorded. Another consumer moves back what a dead one had in hand.
 * Holds while. Redis keeps what it acknowledged. Each order is then delivered at least once.
 * Breaks when. The process dies after it took an order from stock and before the LPUSH.
 * Source. Redis, "LMOVE", pattern: reliable queue. Its predecessor is RPOPLPUSH.
 */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { pairsOf } from '../connections/pairs.ts';
import { blockMsMax } from '../connections/redis.ts';
import type { SaleKeys, ShardKeys } from '../connections/sale-keys.ts';
import type { OrderQueue } from './order-queue.ts';
import type { Source } from './shared/deliver.ts';
import { asEntry, asText, type Entry, noteQueued, orderIdOf } from './shared/order-fields.ts';
import {
  consumeShards,
  depthOfShards,
  type RedisQueueOptions,
  throwFirst,
} from './shared/redis-queue.ts';

export interface ReliableListOptions extends RedisQueueOptions {
  /** A consumer that was not seen for this time is dead: its orders are moved back. */
  readonly claimIdleMs: number;
}

const name = 'reliable-list';
/** Its name is forgotten only then: until it is, a late move of a paused consumer is found. */
const forgetAfterMs = 600_000;

export function redisReliableListQueue(
  redis: Redis,
  keys: SaleKeys,
  options: ReliableListOptions,
): OrderQueue {
  return {
    async publish(order) {
      const shard = keys.of(order.voucherId);
      const publication = noteQueued(redis.multi(), shard, order);
      throwFirst(await publication.lpush(shard.queue(name), asText(order)).exec());
    },
    consume: consumeShards(
      ...([redis, keys, options] as const),
      (shard, blocking) => reliableSource(redis, blocking, shard, options.claimIdleMs),
      { isWatched: true },
    ),
    depth: () => depthOfShards(keys, (shard) => lengthOf(redis, shard, [shard.queue(name)])),
    inHand: () => depthOfShards(keys, (shard) => lengthOf(redis, shard, [])),
    oldest: () => Promise.all(keys.shards.map((shard) => oldestOf(redis, shard))),
  };
}

const consumersOf = ({ queue }: ShardKeys): string => queue(`${name}:consumers`);
const inHandOf = ({ queue }: ShardKeys, consumer: string): string =>
  queue(`${name}:in-hand:${consumer}`);

/** Of the lists of all consumers, and of these. */
async function lengthOf(redis: Redis, shard: ShardKeys, more: readonly string[]): Promise<number> {
  const consumers = await redis.zrange(consumersOf(shard), 0, '-1');
  const lists = [...more, ...consumers.map((each) => inHandOf(shard, each))];
  const lengths = await Promise.all(lists.map((list) => redis.llen(list)));
  return lengths.reduce((sum, each) => sum + each, 0);
}

/**
 * With the time at which its consumer was seen: while that one lives, the others have nothing to
 * claim, and may rest.
 */
async function oldestOf(redis: Redis, shard: ShardKeys): Promise<string | null> {
  const consumers = await redis.zrange(consumersOf(shard), 0, '-1', 'WITHSCORES');
  for (const [consumer, seenAt] of pairsOf(consumers)) {
    const inHand = await redis.lindex(inHandOf(shard, consumer), -1);
    if (inHand !== null) return `${inHand} of ${consumer}, seen at ${seenAt}`;
  }
  return redis.lindex(shard.queue(name), -1);
}

function reliableSource(
  redis: Redis,
  blocking: Redis,
  shard: ShardKeys,
  claimIdleMs: number,
): Source<Entry> {
  const consumer = randomUUID();
  const list = shard.queue(name);
  const own = inHandOf(shard, consumer);
  let claimAt = 0;
  /** Also while a batch is in hand, which may take longer than `claimIdleMs`. */
  const beat = () => seen(redis, shard, consumer);
  const beating = setInterval(() => beat().catch(() => {}), claimIdleMs / 3).unref();

  async function move(most: number, mayWait: boolean): Promise<string[]> {
    const waiting = await redis.llen(list);
    if (waiting === 0 && !mayWait) return [];
    if (waiting === 0) {
      const first = await blocking.blmove(list, own, 'RIGHT', 'LEFT', blockMsMax / 1_000);
      return first === null ? [] : [first];
    }
    const moves = redis.pipeline();
    for (let moved = 0; moved < Math.min(most, waiting); moved++)
      moves.lmove(list, own, 'RIGHT', 'LEFT');
    const texts = throwFirst(await moves.exec());
    return texts.filter((text) => typeof text === 'string');
  }

  return {
    async take(most, inHand) {
      await beat();
      if (performance.now() >= claimAt) {
        claimAt = performance.now() + claimIdleMs / 2;
        await claimFromDead(redis, shard, claimIdleMs);
      }
      // The answer to an earlier move may have been lost.
      const lost = (await redis.llen(own)) > inHand.length;
      const texts = lost ? unknown(await redis.lrange(own, 0, -1), inHand) : [];
      if (texts.length > 0) return texts.toReversed().slice(0, most).map(asEntry);
      return (await move(most, inHand.length === 0)).map(asEntry);
    },
    async settle(done) {
      const removal = redis.pipeline();
      for (const { text } of done) removal.lrem(own, -1, text);
      throwFirst(await removal.hdel(shard.queued, ...done.map(orderIdOf)).exec());
    },
    async handBack(left) {
      clearInterval(beating);
      const back = redis.multi();
      for (const { text } of left.toReversed()) back.lrem(own, -1, text).rpush(list, text);
      throwFirst(await back.zrem(consumersOf(shard), consumer).exec());
    },
  };
}

/** The texts that no consumer has in hand; a text may occur several times in both lists. */
function unknown(texts: readonly string[], inHand: readonly Entry[]): string[] {
  const known = inHand.map(({ text }) => text);
  return texts.filter((text) => {
    const index = known.indexOf(text);
    if (index >= 0) known.splice(index, 1);
    return index < 0;
  });
}

async function seen(redis: Redis, shard: ShardKeys, consumer: string): Promise<void> {
  await redis.zadd(consumersOf(shard), await nowMs(redis), consumer);
}

/** Redis's clock, so that the consumers need none in common. */
async function nowMs(redis: Redis): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}

/** Moves back the orders of consumers that were not seen for `idleMs`, the oldest first. */
async function claimFromDead(redis: Redis, shard: ShardKeys, idleMs: number): Promise<void> {
  const now = await nowMs(redis);
  const consumers = consumersOf(shard);
  const dead = await redis.zrangebyscore(consumers, '-inf', `${now - idleMs}`);
  for (const consumer of dead) {
    const inHand = inHandOf(shard, consumer);
    while ((await redis.lmove(inHand, shard.queue(name), 'LEFT', 'RIGHT')) !== null);
  }
  await redis.zremrangebyscore(consumers, '-inf', now - forgetAfterMs);
}
