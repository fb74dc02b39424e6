/** Messages that come at the wrong moment, or to a waiter that cannot use them. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { beforeEach, expect, test } from 'vitest';
import type { Lease } from '../../src/locks/lock.ts';
import { freeLease } from '../../src/locks/none.ts';
import { timeLeft } from '../../src/locks/shared/deadlines.ts';
import {
  acquireWhenNotified,
  releaseNotifications,
  type Subscription,
} from '../../src/locks/shared/release-notifications.ts';
import { quietRedis, testConnections } from '../support/connections.ts';

let redis: Redis;
let subscriber: Redis;
let channel: string;

beforeEach(async () => {
  const connections = testConnections({ REDIS_URL: quietRedis() });
  redis = connections.redis('admin');
  subscriber = connections.redis('subscriber');
  await connections.ready();
  channel = `test:${randomUUID()}`;
});

const subscribers = () => releaseNotifications(redis, { subscriber });
const waitMs = 3_000;

async function publish(): Promise<void> {
  const arrived = once(subscriber, 'message');
  await redis.publish(channel, '0');
  await arrived;
}

test('a message that comes while nobody waits wakes the next one to wait', async () => {
  const subscription = subscribers()(channel);
  expect(await subscription.listening(waitMs)).toBe(true);
  await publish();
  expect(await subscription.notified(waitMs)).toBe(true);
  subscription.close();
});

/** Waits once, and then does what `then` says; null when its time is over before. */
function waiter(subscription: Subscription, then: () => Promise<Lease>): Promise<Lease | null> {
  const leftMs = timeLeft(waitMs);
  let asked = 0;
  const attempt = async () => {
    asked += 1;
    return asked > 1 && leftMs() > 0 ? then() : -1;
  };
  return acquireWhenNotified(subscription, attempt, leftMs);
}

test('a waiter that fails after its message gives the message to the next one', async () => {
  const subscribe = subscribers();
  const [first, second] = [subscribe(channel), subscribe(channel)];
  const failing = waiter(first, () => Promise.reject(new Error('Redis is away')));
  const failed = expect(failing).rejects.toThrow('Redis is away');
  expect(await first.listening(waitMs)).toBe(true);
  const next = waiter(second, async () => freeLease);
  expect(await second.listening(waitMs)).toBe(true);
  await publish();
  await failed;
  expect(await next).toBe(freeLease);
});
