/** What the contract cannot say of the reentrant lock: re-entry, the watchdog, the wake-ups, and Redisson's wire format. */
import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { beforeEach, describe, expect, test } from 'vitest';
import { installGate } from '../../src/checkpoints.ts';
import { LeaseLost } from '../../src/errors.ts';
import { waitUntil } from '../../src/lab/waiting.ts';
import type { Lock } from '../../src/locks/lock.ts';
import { asOneOwner } from '../../src/locks/owner.ts';
import { open } from '../../src/locks/redis-reentrant.ts';
import { quietRedis, testConnections } from '../support/connections.ts';
import { someVoucherId } from '../support/sale.ts';

let resource: string;
let redis: Redis;

beforeEach(async () => {
  resource = `test:${someVoucherId()}`;
  const connections = testConnections({ REDIS_URL: quietRedis() });
  redis = connections.redis('admin');
  await connections.ready();
});

async function openLock(watchdogMs: number): Promise<Lock> {
  const connections = testConnections({ REDIS_URL: quietRedis(), LOCK_WATCHDOG_MS: String(watchdogMs) });
  const lock = open(connections);
  await connections.ready();
  return lock;
}

const held = async (lock: Lock, waitMs = 5_000) => {
  const lease = await lock.acquire(resource, { waitMs });
  if (!lease) throw new Error('not in time');
  return lease;
};

describe('its owner', () => {
  test('may take it again, and gives it back as often as it took it', async () => {
    const lock = await openLock(30_000);
    await asOneOwner(async () => {
      const [outer, inner] = [await held(lock), await held(lock)];
      await inner.release();
      expect(await redis.hvals(`lock:${resource}`)).toEqual(['1']);
      await outer.release();
      expect(await redis.exists(`lock:${resource}`)).toBe(0);
    });
  });

  test('is an async context: another one in the same process is kept out', async () => {
    const lock = await openLock(30_000);
    const outer = await asOneOwner(() => held(lock));
    expect(await asOneOwner(() => lock.acquire(resource, { waitMs: 50 }))).toBeNull();
    expect(await lock.acquire(resource, { waitMs: 50 })).toBeNull();
    await outer.release();
  });
});

describe('the watchdog', () => {
  test('keeps the lease for as long as its holder works', async () => {
    const lock = await openLock(400);
    const lease = await held(lock);
    const [first] = await redis.hkeys(`lock:${resource}`);
    await new Promise((resolve) => setTimeout(resolve, 1_200)); // Three leases long.
    expect(await redis.hkeys(`lock:${resource}`)).toEqual([first]);
    expect(lease.signal.aborted).toBe(false);
    expect(lease.remainingMs()).toBeGreaterThan(0);
    await lease.release();
  });

  test('says so when somebody else took the lock away, and does not take it back', async () => {
    const lock = await openLock(600);
    const lease = await held(lock);
    await redis.del(`lock:${resource}`);
    await once(lease.signal, 'abort');
    expect(lease.signal.reason).toBeInstanceOf(LeaseLost);
    expect(await redis.exists(`lock:${resource}`)).toBe(0);
    await lease.release();
  });

  test('stops with the release', async () => {
    const lock = await openLock(300);
    await (await held(lock)).release();
    await redis.hset(`lock:${resource}`, 'somebody', 1);
    await redis.pexpire(`lock:${resource}`, 500);
    await waitUntil(
      'the key to expire by itself',
      3_000,
      async () => (await redis.exists(`lock:${resource}`)) === 0,
    );
  });
});

test('a lease is released at the end of the block that uses it', async () => {
  const lock = await openLock(30_000);
  {
    await using lease = await held(lock);
    expect(lease.signal.aborted).toBe(false);
    expect(await redis.exists(`lock:${resource}`)).toBe(1);
  }
  expect(await redis.exists(`lock:${resource}`)).toBe(0);
});

describe('a waiter', () => {
  test('does not miss a release that falls between its first try and its subscription', async () => {
    const [holder, waiter] = [await openLock(30_000), await openLock(30_000)];
    const lease = await held(holder);
    let letOn: () => void = () => {};
    const between = new Promise<void>((reached) => {
      installGate((name) => {
        if (name !== 'before-subscribe') return Promise.resolve();
        reached();
        return new Promise((resolve) => {
          letOn = resolve;
        });
      });
    });
    const waiting = waiter.acquire(resource, { waitMs: 20_000 });
    await between;
    installGate(() => Promise.resolve());
    await lease.release(); // Published while nobody listens.
    const askedAt = performance.now();
    letOn();
    const next = await waiting;
    expect(next).not.toBeNull();
    expect(performance.now() - askedAt).toBeLessThan(10_000); // Half of the wait: it did not sleep until its end.
    await next?.release();
  });

  test('is woken by the release and asks no more often than that', async () => {
    const [holder, waiter] = [await openLock(30_000), await openLock(30_000)];
    const lease = await held(holder);
    const calls = async () =>
      Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
    const before = await calls();
    const waiting = waiter.acquire(resource, { waitMs: 20_000 });
    const channel = `redisson_lock__channel:{lock:${resource}}`;
    const subscribers = async () => Number((await redis.pubsub('NUMSUB', channel))[1]);
    await waitUntil('the waiter to subscribe', 5_000, async () => (await subscribers()) === 1);
    await new Promise((resolve) => setTimeout(resolve, 500)); // A lock that polls would ask some twenty times meanwhile.
    await lease.release();
    const next = await waiting;
    expect(next).not.toBeNull();
    // Tried, tried after subscribing, the holder's release, tried when woken.
    expect((await calls()) - before).toBeLessThanOrEqual(4);
    await next?.release();
    await waitUntil('the waiter to unsubscribe', 5_000, async () => (await subscribers()) === 0);
  });

  test('that gives up or is aborted unsubscribes', async () => {
    const [holder, waiter] = [await openLock(30_000), await openLock(30_000)];
    const lease = await held(holder);
    expect(await waiter.acquire(resource, { waitMs: 100 })).toBeNull();
    const abort = new AbortController();
    const waiting = waiter.acquire(resource, { waitMs: 10_000, signal: abort.signal });
    setTimeout(() => abort.abort(new Error('enough')), 50);
    await expect(waiting).rejects.toThrow('enough');
    const channel = `redisson_lock__channel:{lock:${resource}}`;
    await waitUntil(
      'nobody to listen',
      5_000,
      async () => Number((await redis.pubsub('NUMSUB', channel))[1]) === 0,
    );
    await lease.release();
  });
});

test('ten thousand cycles leave no key behind but latches that expire', async () => {
  const lock = await openLock(30_000);
  const cycle = async () => (await held(lock)).release();
  for (let round = 0; round < 100; round++) await Promise.all(Array.from({ length: 100 }, cycle));
  expect(await redis.exists(`lock:${resource}`)).toBe(0);
  const [, keys] = await redis.scan(
    '0',
    'MATCH',
    `redisson_unlock_latch:{lock:${resource}}*`,
    'COUNT',
    100_000,
  );
  const ages = await Promise.all(keys.slice(0, 50).map((key) => redis.pttl(key)));
  expect(ages.filter((ttl) => ttl === -1)).toEqual([]);
}, 120_000);
