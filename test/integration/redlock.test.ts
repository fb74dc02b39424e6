/** Redlock with masters missing: a majority is enough, less says so. */
import type { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { LockServiceUnavailable } from '../../src/errors.ts';
import { using } from '../../src/locks/lock.ts';
import { testConnections } from '../support/connections.ts';
import { ladderLock } from '../support/ladder-lock.ts';
import { ownLab } from '../support/own-lab.ts';
import { startOwnRedis } from '../support/own-redis.ts';
import { swallowingProxy } from '../support/swallowing-proxy.ts';

const nobody = 'redis://127.0.0.1:1';
const masters = () => (ownLab.environment['REDLOCK_URLS'] ?? '').split(',');

const ready = (redis: Redis) =>
  new Promise<void>((resolve) => void redis.once('ready', () => resolve()));

async function redlockOver(...urls: (string | undefined)[]) {
  const connections = testConnections({ REDLOCK_URLS: urls.join(',') });
  const lock = ladderLock('redlock', connections);
  await Promise.all(
    connections
      .redlockMasters()
      .slice(0, urls.filter((url) => url !== nobody).length)
      .map(ready),
  );
  return lock;
}

test('redlock · one of three masters down · still excludes', async () => {
  const [first, second] = masters();
  const lock = await redlockOver(first, second, nobody);
  const lease = await lock.acquire('test:one-down', { waitMs: 2_000 });
  expect(lease).not.toBeNull();
  expect(await lock.acquire('test:one-down', { waitMs: 0 })).toBeNull();
  await lease?.release();
});

test('redlock · two of three masters down · refuses with the count, and leaves nothing behind', async () => {
  const [first] = masters();
  const lock = await redlockOver(first, nobody, nobody);
  const refusal = lock.acquire('test:two-down', { waitMs: 0 });
  await expect(refusal).rejects.toThrow(LockServiceUnavailable);
  await expect(refusal).rejects.toThrow('1 of 2 needed lock servers answered');
  const redis = testConnections({ REDIS_URL: first ?? '' }).redis('admin');
  await new Promise((resolve) => redis.once('ready', resolve));
  expect(await redis.exists('lock:test:two-down')).toBe(0);
});

test('redlock · a master that errs once in an attempt is a master that did not answer', async () => {
  const [first, second, third] = masters();
  for (const url of [second, third]) {
    const redis = testConnections({ REDIS_URL: url ?? '' }).redis('admin');
    await ready(redis);
    // Its lock script fails for want of memory, and its unlock script does not.
    await redis.config('SET', 'maxmemory', '1');
    onTestFinished(async () => void (await redis.config('SET', 'maxmemory', '0')));
  }
  const lock = await redlockOver(first, second, third);
  await expect(lock.acquire('test:once', { waitMs: 0 })).rejects.toThrow(
    'The lock on test:once is not available: 1 of 2 needed lock servers answered',
  );
});

test('redlock · a release that a majority did not hear of is reported, and the work stands', async () => {
  const [first = '', ...others] = masters();
  const proxies = await Promise.all(
    others.map((url) => swallowingProxy(Number(new URL(url).port))),
  );
  const behind = proxies.map(({ port }) => `redis://127.0.0.1:${port}`);
  const lock = await redlockOver(first, ...behind);
  const reported: unknown[] = [];
  const options = { waitMs: 2_000, onReleaseFailed: (error: unknown) => reported.push(error) };
  const work = async () => {
    for (const proxy of proxies) proxy.hold();
    return 'sold';
  };
  expect(await using(lock, 'test:unheard', options, work)).toBe('sold');
  expect(reported).toEqual([expect.any(LockServiceUnavailable)]);
  expect(String(reported[0])).toContain('test:unheard is not available: 1 of 2 needed');
});

test('redlock · a release after the lease has expired is no failure', async () => {
  const lock = await redlockOver(...masters());
  const lease = await lock.acquire('test:expired', { waitMs: 2_000, leaseMs: 100 });
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(lease?.remainingMs()).toBe(0);
  await lease?.release();
});

test('redlock · a lease is shorter than its keys, by the drift that clocks may have', async () => {
  const lock = await redlockOver(...masters());
  const lease = await lock.acquire('test:validity', { waitMs: 2_000, leaseMs: 10_000 });
  expect(lease?.remainingMs()).toBeLessThanOrEqual(9_900); // One in a hundred is for the clocks.
  expect(lease?.remainingMs()).toBeGreaterThan(8_000);
  await lease?.release();
});

test('redlock · a release that a master has answered is not sent again', async () => {
  const servers = [await startOwnRedis(), await startOwnRedis(), await startOwnRedis()];
  const lock = await redlockOver(...servers.map(({ url }) => url));
  for (const resource of ['one', 'other'])
    await (await lock.acquire(resource, { waitMs: 2_000 }))?.release();
  for (const { url } of servers) {
    const redis = testConnections({ REDIS_URL: url }).redis('admin');
    await ready(redis);
    // Two requests and two releases. What came after the first lease was sent before the second.
    expect(await redis.info('commandstats')).toContain('cmdstat_eval:calls=4,');
  }
});
