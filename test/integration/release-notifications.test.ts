/** Messages that come at the wrong moment, or to a waiter that cannot use them. */
import { randomUUID } from 'node:crypto';
import { getEventListeners, once } from 'node:events';
import { type Redis, Redis as RedisClient } from 'ioredis';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Lease } from '../../src/service/locks/lock.ts';
import { freeLease } from '../../src/service/locks/none.ts';
import { timeLeft } from '../../src/service/locks/shared/deadlines.ts';
import {
  acquireWhenNotified,
  releaseNotifications,
  type Subscription,
} from '../../src/service/locks/shared/release-notifications.ts';
import { fakeTimers } from '../support/basics.ts';
import { callsOf, quietRedis, readyConnections, testConnections } from '../support/connections.ts';
import { ladderLock } from '../support/locks.ts';
import { startOwnRedis } from '../support/servers.ts';

let redis: Redis;
let subscriber: Redis;
let channel: string;

beforeEach(async () => {
  const connections = await readyConnections({ REDIS_URL: quietRedis() }, 'subscriber');
  redis = connections.redis('admin');
  subscriber = connections.redis('subscriber');
  channel = `test:${randomUUID()}`;
});

const subscribers = () => releaseNotifications(redis, { subscriber });
const waitMs = 20_000;

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

test('a waiter that gave up before waits for nothing, and none leaves a listener', async () => {
  const subscription = subscribers()(channel);
  const aborted = AbortSignal.abort(new Error('gave up'));
  await expect(subscription.notified(60_000, aborted)).rejects.toThrow('gave up');
  const { signal } = new AbortController();
  expect(await subscription.notified(1, signal)).toBe(false);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  subscription.close();
});

test('a wait is not over a fraction of a millisecond early', async () => {
  const subscription = subscribers()(channel);
  fakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let isOver = false;
  const waiting = subscription.notified(10.4).then(() => {
    isOver = true;
  });
  await vi.advanceTimersByTimeAsync(10);
  expect(isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await waiting;
  subscription.close();
});

test('several subscriptions listen once: a message wakes one waiter', async () => {
  const subscribe = subscribers();
  const all = [subscribe(channel), subscribe(`${channel}:other`), subscribe(channel)];
  await Promise.all(all.map((each) => each.listening(waitMs)));
  expect(subscriber.listenerCount('message')).toBe(1);
  for (const each of all) each.close();
});

test('a subscription that fails is nobody’s error when nobody waits for it any more', async () => {
  const once = { lazyConnect: true, enableOfflineQueue: false, retryStrategy: () => null };
  const away = new RedisClient({ port: 1, ...once });
  away.on('error', () => {});
  const subscription = releaseNotifications(redis, { subscriber: away })(channel);
  const aborted = AbortSignal.abort(new Error('gave up'));
  await expect(subscription.listening(waitMs, aborted)).rejects.toThrow('gave up');
  subscription.close();
  await new Promise((resolve) => setImmediate(resolve)); // An unhandled error would fail this test.
});

test('the connection that subscribes ends with its client, and says nothing of a dead server', async () => {
  const server = await startOwnRedis();
  const print = vi.spyOn(console, 'error');
  onTestFinished(() => print.mockRestore());
  const client = testConnections({ REDIS_URL: server.url }).redis('admin');
  client.on('error', () => {});
  const opened: Redis[] = [];
  const duplicate = client.duplicate.bind(client);
  vi.spyOn(client, 'duplicate').mockImplementation((options) => {
    const one = duplicate(options);
    opened.push(one);
    return one;
  });
  const subscription = releaseNotifications(client, {})(channel);
  expect(await subscription.listening(waitMs)).toBe(true);
  await server.kill();
  await waitUntil('another try to connect', waitMs, () => opened[0]?.status === 'reconnecting');
  await new Promise((resolve) => opened[0]?.once('close', resolve)); // It tried again, and failed.
  expect(print).not.toHaveBeenCalled();
  await server.start();
  const areReady = () => [client, opened[0]].every((each) => each?.status === 'ready');
  await waitUntil('both connections', 20_000, areReady);
  client.disconnect();
  await waitUntil('its end', waitMs, () => opened[0]?.status === 'end');
});

test('beside a key without an expiry, a waiter sleeps until its time is over', async () => {
  const { url } = await startOwnRedis();
  const connections = testConnections({ REDIS_URL: url, ORDER_DURABILITY: 'everysec' });
  const own = connections.redis('admin');
  const lock = ladderLock('redis-message', connections);
  await connections.ready();
  await own.set('lock:seat', 'of nobody');
  expect(await lock.acquire('seat', { waitMs: 500 })).toBeNull();
  const looks = await callsOf(own, 'pttl');
  expect(looks).toBeGreaterThan(0);
  expect(looks).toBeLessThan(5);
});
