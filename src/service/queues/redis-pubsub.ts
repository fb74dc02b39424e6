/**
 * Idea. PUBLISH on a channel that the consumers subscribe to. Redis stores nothing.
 * Holds while. A consumer listens, and lives until what it heard is recorded.
 * Breaks when. Nobody listens, or the listener dies, or its connection breaks for a moment: the
 *   order is gone. PUBLISH answers how many listened; one that listened may still die.
 * Source. The course notes' second queue in Redis; Redis, "Pub/Sub": at most once.
 */
import type { Redis } from 'ioredis';
import { blockMsMax } from '../connections/redis.ts';
import type { SaleKeys } from '../connections/sale-keys.ts';
import type { OrderQueue } from './order-queue.ts';
import { type Source, WakeUp } from './shared/deliver.ts';
import { asEntry, asText, type Entry } from './shared/order-fields.ts';
import { consumeShards, type RedisQueueOptions } from './shared/redis-queue.ts';

const name = 'channel';

/** `newConsumer` of the options makes a subscriber. */
export function redisPubsubQueue(
  redis: Redis,
  keys: SaleKeys,
  options: RedisQueueOptions,
): OrderQueue {
  return {
    async publish(order) {
      await redis.publish(keys.of(order.voucherId).queue(name), asText(order));
    },
    consume: consumeShards(redis, keys, options, (shard, subscriber) =>
      channelSource(subscriber, shard.queue(name)),
    ),
    depth: async () => 0, // Redis stores nothing.
  };
}

async function channelSource(subscriber: Redis, channel: string): Promise<Source<Entry>> {
  const heard: string[] = [];
  const arrival = new WakeUp();
  subscriber.on('message', (_, text: string) => {
    heard.push(text);
    arrival.wake();
  });
  // After every reconnect: Redis forgets the subscription with the connection.
  subscriber.on('ready', () => subscriber.subscribe(channel).catch(() => {}));
  await subscriber.subscribe(channel).catch(() => {});

  return {
    async take(most, inHand) {
      if (heard.length === 0 && inHand.length === 0) await arrival.wait(blockMsMax);
      return heard.splice(0, most).map(asEntry);
    },
    settle: async () => {},
    waiting: () => heard.length,
  };
}
