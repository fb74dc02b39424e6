/**
 * What the contract cannot say of the reentrant lock: re-entry, the watchdog, the wake-ups, and
 * Redisson's wire format.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { beforeEach, describe, expect, test } from 'vitest';
import { LeaseLost, LockServiceUnavailable } from '../../src/errors.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Lease, Lock } from '../../src/locks/lock.ts';
import { asOneOwner } from '../../src/locks/shared/owner.ts';
import {
  hashProtocol,
  type Protocol,
  RedissonLeases,
} from '../../src/locks/shared/redisson-leases.ts';
import { installGate } from '../../src/trace/checkpoints.ts';
import { quietRedis, testConnections } from '../support/connections.ts';
import { ladderLock } from '../support/ladder-lock.ts';
import { someVoucherId } from '../support/sale.ts';
import { swallowingProxy } from '../support/swallowing-proxy.ts';

let resource: string;
let redis: Redis;

beforeEach(async () => {
  resource = `test:${someVoucherId()}`;
  const connections = testConnections({ REDIS_URL: quietRedis() });
  redis = connections.redis('admin');
  await connections.ready();
});

async function openLock(watchdogMs: number): Promise<Lock> {
  const connections = testConnections({
    REDIS_URL: quietRedis(),
    LOCK_WATCHDOG_MS: String(watchdogMs),
    LOCK_ANSWER_MS: String(Math.min(500, Math.floor(watchdogMs / 3))),
  });
  const lock = ladderLock('redis-reentrant', connections);
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

describe('a lease inside another', () => {
  test('shares its deadline, whatever lease it asks for', async () => {
    const lock = await openLock(30_000);
    await asOneOwner(async () => {
      const outer = await held(lock);
      const inner = await lock.acquire(resource, { waitMs: 0, leaseMs: 100 });
      expect(inner?.remainingMs()).toBeGreaterThan(20_000);
      expect(await redis.pttl(`lock:${resource}`)).toBeGreaterThan(20_000);
      await inner?.release();
      expect(await redis.pttl(`lock:${resource}`)).toBeGreaterThan(20_000);
      await outer.release();
    });
  });

  test('does not make a lease longer that is not renewed', async () => {
    const lock = await openLock(30_000);
    await asOneOwner(async () => {
      const outer = await lock.acquire(resource, { waitMs: 0, leaseMs: 5_000 });
      await new Promise((resolve) => setTimeout(resolve, 300));
      const inner = await held(lock);
      expect(inner.remainingMs()).toBeLessThan(4_800);
      expect(await redis.pttl(`lock:${resource}`)).toBeLessThan(4_800);
      await inner.release();
      expect(await redis.pttl(`lock:${resource}`)).toBeLessThan(4_800);
      await outer?.release();
    });
  });

  test('is a new lease when the outer one expired while the event loop stood still', async () => {
    const lock = await openLock(30_000);
    await asOneOwner(async () => {
      const outer = await lock.acquire(resource, { waitMs: 0, leaseMs: 300 });
      const until = performance.now() + 400;
      while (performance.now() < until);
      const acquiring = held(lock); // Redis has forgotten the lock, so it grants it.
      for (let turn = 0; turn < 20; turn++) await Promise.resolve(); // No timer runs meanwhile.
      expect(outer?.signal.reason).toBeInstanceOf(LeaseLost);
      const inner = await acquiring;
      expect(inner.remainingMs()).toBeGreaterThan(10_000);
      await outer?.release();
      expect(await redis.exists(`lock:${resource}`)).toBe(1);
      await inner.release();
      expect(await redis.exists(`lock:${resource}`)).toBe(0);
    });
  });

  test('whose grant was not answered takes nothing from the outer one', async () => {
    const proxy = await swallowingProxy(Number(new URL(quietRedis()).port));
    const connections = testConnections({ REDIS_URL: `redis://127.0.0.1:${proxy.port}` });
    const lock = ladderLock('redis-reentrant', connections);
    await connections.ready();
    await asOneOwner(async () => {
      const outer = await held(lock);
      proxy.swallowNextAnswer(resource);
      await expect(lock.acquire(resource, { waitMs: 0 })).rejects.toThrow(LockServiceUnavailable);
      await waitUntil('the next connection', 5_000, () =>
        connections
          .redis('lock')
          .ping()
          .then((pong) => pong === 'PONG'),
      );
      const inner = await held(lock); // After all that the owner sent before it.
      const [count] = await redis.hvals(`lock:${resource}`);
      expect(Number(count)).toBe(3); // The outer one, the one that nobody heard of, and this.
      await inner.release();
      expect(outer.signal.aborted).toBe(false);
      await outer.release();
      expect(await redis.exists(`lock:${resource}`)).toBe(0);
    });
  });

  test('is refused when another owner has the lock, and the outer one is told', async () => {
    const lock = await openLock(30_000);
    await asOneOwner(async () => {
      const outer = await held(lock);
      await redis.multi().del(`lock:${resource}`).hset(`lock:${resource}`, 'somebody', 1).exec();
      await redis.pexpire(`lock:${resource}`, 20_000);
      expect(await lock.acquire(resource, { waitMs: 0 })).toBeNull();
      expect(outer.signal.reason).toBeInstanceOf(LeaseLost);
      expect(() => outer.assertHeld()).toThrow(`The lease on ${resource} ended`);
      await outer.release();
      expect(await redis.hkeys(`lock:${resource}`)).toEqual(['somebody']);
    });
  });

  test('tells the outer one when Redis counts no other lease at its release', async () => {
    const lock = await openLock(30_000);
    await asOneOwner(async () => {
      const outer = await held(lock);
      await redis.del(`lock:${resource}`);
      const inner = await held(lock); // Redis grants it as the only one.
      await inner.release();
      expect(outer.signal.reason).toBeInstanceOf(LeaseLost);
      await outer.release();
    });
  });

  test('is lost with the outer one: all of them are told, and none ends what comes after', async () => {
    const lock = await openLock(600);
    await asOneOwner(async () => {
      const outer = await held(lock);
      const inner = await lock.acquire(resource, { waitMs: 0, leaseMs: 60_000 });
      await redis.del(`lock:${resource}`);
      await Promise.all(
        [outer, inner].map(
          (lease) => lease?.signal.aborted || once(lease?.signal as AbortSignal, 'abort'),
        ),
      );
      const next = await held(lock);
      await inner?.release();
      await outer.release();
      expect(await redis.exists(`lock:${resource}`)).toBe(1);
      await next.release();
      expect(await redis.exists(`lock:${resource}`)).toBe(0);
    });
  });

  test('keeps its next lease when it renews one that was lost', async () => {
    const lock = await openLock(30_000);
    await asOneOwner(async () => {
      const lost = await lock.acquire(resource, { waitMs: 0, leaseMs: 100 });
      await once(lost?.signal as AbortSignal, 'abort');
      const next = await held(lock);
      await lost?.renew?.(200);
      expect(await redis.pttl(`lock:${resource}`)).toBeGreaterThan(20_000);
      expect(next.signal.aborted).toBe(false);
      await next.release();
    });
  });

  test('is not ended by the late release of a lease that was lost', async () => {
    const lock = await openLock(600);
    await asOneOwner(async () => {
      const lost = await held(lock);
      await redis.del(`lock:${resource}`);
      await once(lost.signal, 'abort');
      const next = await held(lock);
      await lost.release();
      expect(await redis.exists(`lock:${resource}`)).toBe(1);
      await next.release();
      expect(await redis.exists(`lock:${resource}`)).toBe(0);
    });
  });
});

describe('the watchdog', () => {
  test('keeps the lease for as long as its owner works', async () => {
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

  test('stops with the release: the same owner is not renewed any more', async () => {
    const lock = await openLock(300);
    const lease = await held(lock);
    const [owner = ''] = await redis.hkeys(`lock:${resource}`);
    await lease.release();
    await redis.hset(`lock:${resource}`, owner, 1);
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
    // Half of the wait: it did not sleep until its end.
    expect(performance.now() - askedAt).toBeLessThan(10_000);
    await next?.release();
  });

  test('is called also where another kind of lock listens on the same connection', async () => {
    const connections = testConnections({ REDIS_URL: quietRedis(), LOCK_WATCHDOG_MS: '30000' });
    const lock = ladderLock('redis-reentrant', connections);
    ladderLock('redis-message', connections);
    await connections.ready();
    const lease = await held(lock);
    const releasedAt = performance.now();
    const takeTurns = async () => (await held(lock, 20_000)).release();
    const all = Promise.all([takeTurns(), takeTurns(), takeTurns()]);
    const channel = `redisson_lock__channel:{lock:${resource}}`;
    await waitUntil(
      'them to subscribe',
      5_000,
      async () => Number((await redis.pubsub('NUMSUB', channel))[1]) === 1,
    );
    await lease.release();
    await all;
    // Not by their own clocks, after 20 s.
    expect(performance.now() - releasedAt).toBeLessThan(10_000);
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

test('a waiter that cannot subscribe is told which lock is not available', async () => {
  const connections = testConnections({ REDIS_URL: quietRedis() });
  const lock = ladderLock('redis-reentrant', connections);
  await connections.ready();
  const lease = await held(await openLock(30_000));
  connections.redis('subscriber').disconnect();
  const refusal = lock.acquire(resource, { waitMs: 1_000 });
  await expect(refusal).rejects.toThrow(LockServiceUnavailable);
  await expect(refusal).rejects.toThrow(`The lock on ${resource} is not available`);
  await lease.release();
});

describe('behind a connection that fails', () => {
  /** A lock whose Redis is the same, through a proxy. */
  async function openBehindProxy() {
    const proxy = await swallowingProxy(Number(new URL(quietRedis()).port));
    const url = `redis://127.0.0.1:${proxy.port}`;
    const connections = testConnections({ REDIS_URL: url, LOCK_WATCHDOG_MS: '30000' });
    const lock = ladderLock('redis-reentrant', connections);
    await connections.ready();
    // Its scripts are known now: the next answer is the one to the call.
    await (await held(lock)).release();
    return { proxy, lock, ready: () => connections.ready() };
  }
  const free = async () => (await redis.exists(`lock:${resource}`)) === 0;

  let copyArrived: Promise<unknown> | undefined;
  /** The connection of the first release ends; what was written to it arrives after the second. */
  const latestFirst = (protocol: Protocol): Protocol => {
    let first: (() => Promise<unknown>) | undefined;
    return {
      ...protocol,
      async giveBack(release) {
        if (!first) {
          first = () => protocol.giveBack(release);
          throw new Error('Connection is closed.');
        }
        const answer = await protocol.giveBack(release);
        copyArrived ??= sleep(50).then(first);
        return answer;
      },
    };
  };

  test('a grant whose answer is lost is given back, and its caller told', async () => {
    const { proxy, lock } = await openBehindProxy();
    proxy.swallowNextAnswer(resource);
    await expect(held(lock)).rejects.toThrow(LockServiceUnavailable);
    await waitUntil('the lock to be free', 5_000, free);
  });

  test('a release whose answer is lost is one release', async () => {
    const { proxy, lock } = await openBehindProxy();
    const lease = await held(lock);
    proxy.swallowNextAnswer(resource);
    await lease.release();
    expect(await free()).toBe(true);
  });

  test('a release that was sent twice counts once, also when the first copy arrives last', async () => {
    const leases = new RedissonLeases(redis, latestFirst(hashProtocol(redis)), {});
    await asOneOwner(async () => {
      const owner = leases.owner();
      const attempt = () => leases.attempt({ resource, owner, waits: false });
      const [outer, inner] = [await attempt(), await attempt()] as [Lease, Lease];
      await inner.release();
      await copyArrived;
      expect(await redis.hvals(`lock:${resource}`)).toEqual(['1']);
      await outer.release();
    });
  });

  test('a release that could not be sent is sent on the next connection', async () => {
    const { proxy, lock } = await openBehindProxy();
    const lease = await held(lock);
    proxy.cut();
    const released = lease.release();
    proxy.mend();
    await released;
    expect(await free()).toBe(true);
  });

  test('a waiter asks again once it is connected again: the message may have been sent meanwhile', async () => {
    const { proxy, lock } = await openBehindProxy();
    const lease = await held(await openLock(30_000));
    const waiting = lock.acquire(resource, { waitMs: 20_000 });
    const channel = `redisson_lock__channel:{lock:${resource}}`;
    const heard = async () => Number((await redis.pubsub('NUMSUB', channel))[1]) === 1;
    await waitUntil('the waiter to subscribe', 5_000, heard);
    proxy.cut();
    await waitUntil('nobody to listen', 5_000, async () => !(await heard()));
    await lease.release();
    proxy.mend();
    const mendedAt = performance.now();
    const next = await waiting;
    expect(next).not.toBeNull();
    // Not by its own clock, at the end of the wait.
    expect(performance.now() - mendedAt).toBeLessThan(10_000);
    await next?.release();
  });

  test('a waiter gives up in time, and when it is aborted, though nobody answers', async () => {
    const { proxy, lock } = await openBehindProxy();
    const lease = await held(await openLock(30_000));
    installGate(async (name) => void (name === 'before-subscribe' && proxy.hold()));
    const abort = new AbortController();
    const aborted = lock.acquire(resource, { waitMs: 60_000, signal: abort.signal });
    const late = lock.acquire(resource, { waitMs: 500 });
    expect(await late).toBeNull();
    abort.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    installGate(() => Promise.resolve());
    await lease.release();
  });
});
