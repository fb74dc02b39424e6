/**
 * What the contract cannot say of the reentrant lock: leases inside others, the watchdog, the
 * wake-ups, and Redisson's wire format.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { beforeEach, describe, expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { LeaseLost, LockServiceUnavailable } from '../../src/service/errors.ts';
import type { AcquireOptions, Lease, Lock } from '../../src/service/locks/lock.ts';
import { asOneOwner } from '../../src/service/locks/shared/owner.ts';
import {
  hashProtocol,
  type Protocol,
  RedissonLeases,
} from '../../src/service/locks/shared/redisson-leases.ts';
import { installGate } from '../../src/service/trace/checkpoints.ts';
import { quietRedis, readyRedis } from '../support/connections.ts';
import { expectSoon, giveToSomebody, held, ladderLock, openLock } from '../support/locks.ts';
import { someVoucherId } from '../support/sale.ts';
import { proxyBefore } from '../support/test-proxy.ts';

let resource: string;
let key: string;
/** For a look at the key. */
let redis: Redis;

beforeEach(async () => {
  resource = `test:${someVoucherId()}`;
  key = `lock:${resource}`;
  redis = await readyRedis();
});

const openReentrant = (watchdogMs = 30_000, REDIS_URL = quietRedis()) =>
  openLock('redis-reentrant', {
    REDIS_URL,
    LOCK_WATCHDOG_MS: String(watchdogMs),
    LOCK_ANSWER_MS: String(Math.min(500, Math.floor(watchdogMs / 3))),
  });

const acquire = (lock: Lock, options?: Partial<AcquireOptions>) => held(lock, resource, options);
const isFree = async () => (await redis.exists(key)) === 0;

interface Inside {
  readonly lock: Lock;
  readonly outer: Lease;
}

/** A test of an owner that has a lease already: one that is renewed, unless it has a length. */
const inside =
  ({ leaseMs, watchdogMs }: { leaseMs?: number; watchdogMs?: number } = {}) =>
  (name: string, work: (inside: Inside) => Promise<void>) =>
    test(name, async () => {
      const { lock } = await openReentrant(watchdogMs);
      await asOneOwner(async () =>
        work({ lock, outer: await acquire(lock, leaseMs ? { leaseMs } : {}) }),
      );
    });

describe('a lease inside another', () => {
  inside()('shares its deadline, whatever lease it asks for', async ({ lock }) => {
    const inner = await acquire(lock, { leaseMs: 100 });
    expect(inner.remainingMs()).toBeGreaterThan(20_000);
    expect(await redis.pttl(key)).toBeGreaterThan(20_000);
    await inner.release();
    expect(await redis.pttl(key)).toBeGreaterThan(20_000);
  });

  inside({ leaseMs: 5_000 })(
    'does not make a lease longer that is not renewed',
    async ({ lock }) => {
      await sleep(100);
      const inner = await acquire(lock);
      expect(inner.remainingMs()).toBeLessThan(4_950);
      expect(await redis.pttl(key)).toBeLessThan(4_950);
      await inner.release();
      expect(await redis.pttl(key)).toBeLessThan(4_950);
    },
  );

  inside({ leaseMs: 300 })(
    'is a new lease when the outer one expired while the event loop stood still',
    async ({ lock, outer }) => {
      const until = performance.now() + 400;
      while (performance.now() < until);
      const acquiring = acquire(lock); // Redis has forgotten the lock, so it grants it.
      for (let turn = 0; turn < 20; turn++) await Promise.resolve(); // No timer runs meanwhile.
      expect(outer.signal.reason).toBeInstanceOf(LeaseLost);
      const inner = await acquiring;
      expect(inner.remainingMs()).toBeGreaterThan(10_000);
      await outer.release();
      expect(await isFree()).toBe(false);
      await inner.release();
      expect(await isFree()).toBe(true);
    },
  );

  test('whose grant was not answered takes nothing from the outer one', async () => {
    const proxy = await proxyBefore(quietRedis());
    const { lock, connections } = await openReentrant(30_000, proxy.url);
    await asOneOwner(async () => {
      const outer = await acquire(lock);
      proxy.swallowNextAnswer(resource);
      await expect(acquire(lock, { waitMs: 0 })).rejects.toThrow(LockServiceUnavailable);
      const lockRedis = connections.redis('lock');
      await waitUntil(
        'the next connection',
        20_000,
        async () => (await lockRedis.ping()) === 'PONG',
      );
      const inner = await acquire(lock); // After all that the owner sent before it.
      // The outer one, the one that nobody heard of, and this.
      expect(await redis.hvals(key)).toEqual(['3']);
      await inner.release();
      expect(outer.signal.aborted).toBe(false);
      await outer.release();
      expect(await isFree()).toBe(true);
    });
  });

  inside()(
    'is refused when another owner has the lock, and the outer one is told',
    async ({ lock, outer }) => {
      await giveToSomebody(redis, key);
      expect(await lock.acquire(resource, { waitMs: 0 })).toBeNull();
      expect(outer.signal.reason).toBeInstanceOf(LeaseLost);
      expect(() => outer.assertHeld()).toThrow(`The lease on ${resource} ended`);
      await outer.release();
      expect(await redis.hkeys(key)).toEqual(['somebody']);
    },
  );

  inside()(
    'tells the outer one when Redis counts no other lease at its release',
    async ({ lock, outer }) => {
      await redis.del(key);
      const inner = await acquire(lock); // Redis grants it as the only one.
      await inner.release();
      expect(outer.signal.reason).toBeInstanceOf(LeaseLost);
    },
  );

  inside({ watchdogMs: 3_000 })(
    'is lost with the outer one: all of them are told, and none ends what comes after',
    async ({ lock, outer }) => {
      const inner = await acquire(lock, { leaseMs: 60_000 });
      await redis.del(key);
      await waitUntil(
        'both to be lost',
        20_000,
        () => outer.signal.aborted && inner.signal.aborted,
      );
      expect(outer.signal.reason).toBeInstanceOf(LeaseLost);
      expect(await isFree()).toBe(true); // The watchdog does not take it back.
      const next = await acquire(lock);
      await inner.release();
      await outer.release();
      expect(await isFree()).toBe(false);
      await next.release();
      expect(await isFree()).toBe(true);
    },
  );

  inside({ leaseMs: 100 })(
    'keeps its next lease when it renews one that was lost',
    async ({ lock, outer: lost }) => {
      await waitUntil('its end', 20_000, () => lost.signal.aborted);
      const next = await acquire(lock);
      await lost.renew?.(200);
      expect(await redis.pttl(key)).toBeGreaterThan(20_000);
      expect(next.signal.aborted).toBe(false);
    },
  );
});

describe('the watchdog', () => {
  test('keeps the lease for as long as its owner works', async () => {
    const { lock } = await openReentrant(3_000);
    const lease = await acquire(lock);
    const owners = await redis.hkeys(key);
    await sleep(4_500); // One and a half leases long.
    expect(await redis.hkeys(key)).toEqual(owners);
    expect(lease.signal.aborted).toBe(false);
    expect(lease.remainingMs()).toBeGreaterThan(0);
  });

  test('stops with the release: the same owner is not renewed any more', async () => {
    const { lock } = await openReentrant(1_500);
    const lease = await acquire(lock);
    const [owner = ''] = await redis.hkeys(key);
    await lease.release();
    await redis.multi().hset(key, owner, 1).pexpire(key, 1_500).exec();
    await waitUntil('the key to expire by itself', 20_000, isFree);
  });
});

test('a lease is released at the end of the block that uses it', async () => {
  const { lock } = await openReentrant();
  {
    await using lease = await acquire(lock);
    expect(lease.signal.aborted).toBe(false);
    expect(await isFree()).toBe(false);
  }
  expect(await isFree()).toBe(true);
});

/** How many connections have subscribed to the channel of the lock. */
const listeners = async () =>
  Number((await redis.pubsub('NUMSUB', `redisson_lock__channel:{${key}}`))[1]);
const untilListening = (count: number) =>
  waitUntil(`${count} to listen`, 20_000, async () => (await listeners()) === count);

const longWait = { waitMs: 50_000 };

/** A lock whose Redis is the same, through a proxy. */
async function openBehindProxy() {
  const proxy = await proxyBefore(quietRedis());
  const { lock } = await openReentrant(30_000, proxy.url);
  await (await acquire(lock)).release(); // Its scripts are known: the next answer is to the call.
  return { proxy, lock };
}

describe('a waiter', () => {
  test('does not miss a release that falls between its first try and its subscription', async () => {
    const [holder, waiter] = [await openReentrant(), await openReentrant()];
    const lease = await acquire(holder.lock);
    const reached = Promise.withResolvers<void>();
    const letOn = Promise.withResolvers<void>();
    installGate((name) => {
      if (name !== 'before-subscribe') return Promise.resolve();
      reached.resolve();
      return letOn.promise;
    });
    const waiting = acquire(waiter.lock, longWait);
    await reached.promise;
    installGate(() => Promise.resolve());
    await lease.release(); // Published while nobody listens.
    letOn.resolve();
    await expectSoon(waiting);
  });

  test('is called also where another kind of lock listens on the same connection', async () => {
    const { lock, connections } = await openReentrant();
    ladderLock('redis-message', connections);
    const lease = await acquire(lock);
    const takeTurns = async () => (await acquire(lock, longWait)).release();
    const all = Promise.all([takeTurns(), takeTurns(), takeTurns()]);
    await untilListening(1);
    await lease.release();
    await expectSoon(all);
  });

  test('asks again once it is connected again: the message may have been sent meanwhile', async () => {
    const { proxy, lock } = await openBehindProxy();
    const holder = await openReentrant();
    const lease = await acquire(holder.lock);
    const waiting = acquire(lock, longWait);
    await untilListening(1);
    proxy.cut();
    await untilListening(0);
    await lease.release();
    proxy.mend();
    await expectSoon(waiting);
  });

  test('gives up in time, and when it is aborted, though nobody answers', async () => {
    const { proxy, lock } = await openBehindProxy();
    const holder = await openReentrant();
    await acquire(holder.lock);
    installGate(async (name) => void (name === 'before-subscribe' && proxy.hold()));
    const abort = new AbortController();
    const aborted = lock.acquire(resource, { waitMs: 60_000, signal: abort.signal });
    expect(await lock.acquire(resource, { waitMs: 500 })).toBeNull();
    abort.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    installGate(() => Promise.resolve());
  });

  test('that gives up unsubscribes', async () => {
    const [holder, waiter] = [await openReentrant(), await openReentrant()];
    await acquire(holder.lock);
    expect(await waiter.lock.acquire(resource, { waitMs: 100 })).toBeNull();
    await untilListening(0);
  });

  test('that cannot subscribe is told which lock is not available', async () => {
    const [holder, waiter] = [await openReentrant(), await openReentrant()];
    await acquire(holder.lock);
    waiter.connections.redis('subscriber').disconnect();
    const refusal = waiter.lock.acquire(resource, { waitMs: 1_000 });
    await expect(refusal).rejects.toThrow(LockServiceUnavailable);
    await expect(refusal).rejects.toThrow(`The lock on ${resource} is not available`);
  });
});

describe('a release', () => {
  test('whose answer is lost is one release', async () => {
    const { proxy, lock } = await openBehindProxy();
    const lease = await acquire(lock);
    proxy.swallowNextAnswer(resource);
    await lease.release();
    expect(await isFree()).toBe(true);
  });

  test('that could not be sent is sent on the next connection', async () => {
    const { proxy, lock } = await openBehindProxy();
    const lease = await acquire(lock);
    proxy.cut();
    const released = lease.release();
    proxy.mend();
    await released;
    expect(await isFree()).toBe(true);
  });

  test('that was sent twice counts once, also when the first copy arrives last', async () => {
    const late = latestFirst(hashProtocol(redis));
    const leases = new RedissonLeases(redis, late.protocol, {});
    await asOneOwner(async () => {
      const owner = leases.owner();
      const attempt = () => leases.attempt({ resource, owner, waits: false });
      const [outer, inner] = [await attempt(), await attempt()] as [Lease, Lease];
      await inner.release();
      await late.copyArrived();
      expect(await redis.hvals(key)).toEqual(['1']);
      await outer.release();
    });
  });
});

/** The connection of the first release ends; what was written to it arrives after the second. */
function latestFirst(protocol: Protocol) {
  let first: (() => Promise<unknown>) | undefined;
  let copyArrived: Promise<unknown> | undefined;
  const giveBack: Protocol['giveBack'] = async (release) => {
    if (!first) {
      first = () => protocol.giveBack(release);
      throw new Error('Connection is closed.');
    }
    const answer = await protocol.giveBack(release);
    copyArrived ??= sleep(50).then(first);
    return answer;
  };
  return { protocol: { ...protocol, giveBack }, copyArrived: async () => copyArrived };
}
