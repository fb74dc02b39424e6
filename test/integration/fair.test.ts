/**
 * What the contract cannot say of the fair lock: the order of its line, and what becomes of those
 * who leave it.
 */
import { AsyncResource } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { beforeEach, expect, test } from 'vitest';
import { loadScript, runScript } from '../../src/connections/scripts.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Lease, Lock } from '../../src/locks/lock.ts';
import { asOneOwner } from '../../src/locks/shared/owner.ts';
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

/** Each in a client of its own, as in processes of their own. */
async function openLocks(count: number): Promise<Lock[]> {
  const opened = Array.from({ length: count }, () => testConnections({ REDIS_URL: quietRedis() }));
  const locks = opened.map((each) => ladderLock('redis-fair', each));
  await Promise.all(opened.map((connections) => connections.ready()));
  return locks;
}

const inLine = () => redis.llen(`redisson_lock_queue:{lock:${resource}}`);
const untilInLine = (count: number) =>
  waitUntil(`${count} in line`, 5_000, async () => (await inLine()) === count);

async function held(lock: Lock | undefined): Promise<Lease> {
  const lease = await lock?.acquire(resource, { waitMs: 20_000 });
  if (!lease) throw new Error('not in time');
  return lease;
}

test('the lock goes to those who wait in the order in which they came', async () => {
  const [first, ...others] = await openLocks(6);
  const lease = await held(first);
  const order: number[] = [];
  const turns: Promise<void>[] = [];
  for (const [index, lock] of others.entries()) {
    turns.push(
      held(lock).then(async (own) => {
        order.push(index);
        await own.release();
      }),
    );
    await untilInLine(index + 1);
  }
  await lease.release();
  await Promise.all(turns);
  expect(order).toEqual([0, 1, 2, 3, 4]);
  expect(await redis.exists(`redisson_lock_timeout:{lock:${resource}}`)).toBe(0);
});

test('nobody who comes later gets in before those in line, also while the lock is free', async () => {
  const [holder, dead, late] = await openLocks(3);
  const lease = await held(holder);
  const abort = new AbortController();
  const waiting = dead?.acquire(resource, { waitMs: 20_000, signal: abort.signal });
  await untilInLine(1);
  // The head of the line is there, and does not come: as if its process were stopped.
  await redis.lset(`redisson_lock_queue:{lock:${resource}}`, 0, 'stopped:process');
  await redis.zadd(
    `redisson_lock_timeout:{lock:${resource}}`,
    Date.now() + 60_000,
    'stopped:process',
  );
  await lease.release();
  expect(await late?.acquire(resource, { waitMs: 300 })).toBeNull();
  abort.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
});

test('who gives up or is aborted leaves the line, and the next one’s turn comes', async () => {
  const [holder, impatient, aborted, patient] = await openLocks(4);
  const lease = await held(holder);
  const abort = new AbortController();
  const first = impatient?.acquire(resource, { waitMs: 300 });
  await untilInLine(1);
  const second = aborted?.acquire(resource, { waitMs: 20_000, signal: abort.signal });
  await untilInLine(2);
  const third = held(patient);
  await untilInLine(3);
  expect(await first).toBeNull();
  abort.abort(new Error('enough'));
  await expect(second).rejects.toThrow('enough');
  await untilInLine(1);
  await lease.release();
  await (await third).release();
  expect(await inLine()).toBe(0);
});

/** When the turn of each waiter times out, the earliest first; in milliseconds. */
async function turnsEnd(): Promise<number[]> {
  const key = `redisson_lock_timeout:{lock:${resource}}`;
  const scores = await redis.zrange(key, 0, '-1', 'WITHSCORES');
  return scores.filter((_, index) => index % 2 === 1).map(Number);
}

test('a grant, and a waiter that leaves, make the turns behind one turn earlier', async () => {
  const turnMs = 300_000;
  const [holder, next, leaving, last] = await openLocks(4);
  const lease = await held(holder);
  const second = held(next);
  await untilInLine(1);
  const abort = new AbortController();
  const third = leaving?.acquire(resource, { waitMs: 20_000, signal: abort.signal });
  await untilInLine(2);
  const fourth = held(last);
  await untilInLine(3);
  const before = await turnsEnd();
  await lease.release();
  const own = await second;
  expect(await turnsEnd()).toEqual(before.slice(1).map((end) => end - turnMs));
  abort.abort(new Error('enough'));
  await expect(third).rejects.toThrow('enough');
  await untilInLine(1);
  expect(await turnsEnd()).toEqual(before.slice(2).map((end) => end - 2 * turnMs));
  await own.release();
  await (await fourth).release();
});

test('a turn that has passed is passed over', async () => {
  const [holder, next] = await openLocks(2);
  const lease = await held(holder);
  await redis.rpush(`redisson_lock_queue:{lock:${resource}}`, 'dead:waiter');
  await redis.zadd(`redisson_lock_timeout:{lock:${resource}}`, Date.now() - 1, 'dead:waiter');
  const waiting = held(next);
  const head = () => redis.lindex(`redisson_lock_queue:{lock:${resource}}`, 0);
  await waitUntil('the live one to be first', 5_000, async () => (await head()) !== 'dead:waiter');
  expect(await inLine()).toBe(1);
  await lease.release();
  await (await waiting).release();
});

test('the next in line is notified by the one that removes a turn that timed out', async () => {
  const [waiting, late] = await openLocks(2);
  const line = `redisson_lock_queue:{lock:${resource}}`;
  const turns = `redisson_lock_timeout:{lock:${resource}}`;
  await redis.hset(`lock:${resource}`, 'somebody', 1);
  await redis.pexpire(`lock:${resource}`, 60_000);
  await redis.rpush(line, 'short:turn');
  await redis.zadd(turns, Date.now() + 60_000, 'short:turn');
  const next = held(waiting);
  await untilInLine(2);
  const channel = `redisson_lock__channel:{lock:${resource}}:${await redis.lindex(line, 1)}`;
  const listens = async () => Number((await redis.pubsub('NUMSUB', channel))[1]) === 1;
  await waitUntil('it to listen', 5_000, listens);
  await redis.zadd(turns, Date.now() - 1, 'short:turn');
  await redis.del(`lock:${resource}`);
  const removedAt = performance.now();
  expect(await late?.acquire(resource, { waitMs: 0 })).toBeNull();
  await (await next).release();
  // Not by its own clock, after 20 s.
  expect(performance.now() - removedAt).toBeLessThan(5_000);
});

test('a living waiter whose turn timed out in a line that was never empty is woken by the release', async () => {
  const [holder, waiting] = await openLocks(2);
  const lease = await holder?.acquire(resource, { waitMs: 0, leaseMs: 60_000 });
  const next = held(waiting);
  await untilInLine(1);
  const own = (await redis.lindex(`redisson_lock_queue:{lock:${resource}}`, 0)) ?? '';
  const turns = `redisson_lock_timeout:{lock:${resource}}`;
  await waitUntil('it to sleep', 5_000, async () => {
    await redis.zadd(turns, 1, own);
    await sleep(300); // A waiter that asks meanwhile has a new turn.
    return (await redis.zscore(turns, own)) === '1';
  });
  const releasedAt = performance.now();
  await lease?.release();
  await (await next).release();
  // Not by its own clock, after 20 s.
  expect(performance.now() - releasedAt).toBeLessThan(5_000);
});

test('whoever is first when the one before leaves is called, if the lock is free by then', async () => {
  const [leaving, next] = await openLocks(2);
  const line = `redisson_lock_queue:{lock:${resource}}`;
  // A holder that Redis forgets without a word, so that only the leaving can be what calls the
  // next.
  await redis.hset(`lock:${resource}`, 'somebody', 1);
  await redis.pexpire(`lock:${resource}`, 60_000);
  const abort = new AbortController();
  const first = leaving?.acquire(resource, { waitMs: 20_000, signal: abort.signal });
  await untilInLine(1);
  const second = held(next);
  await untilInLine(2);
  const called = async (index: number) =>
    Number(
      (
        await redis.pubsub(
          'NUMSUB',
          `redisson_lock__channel:{lock:${resource}}:${await redis.lindex(line, index)}`,
        )
      )[1],
    );
  await waitUntil('both to listen', 5_000, async () => (await called(0)) + (await called(1)) === 2);
  await redis.del(`lock:${resource}`);
  abort.abort(new Error('enough'));
  await expect(first).rejects.toThrow('enough');
  const leftAt = performance.now();
  await (await second).release();
  expect(performance.now() - leftAt).toBeLessThan(5_000); // And not by its own clock, after 20 s.
});

test('two waits of one owner take one place, which the end of the shorter one does not lose', async () => {
  const [holder, twice, rival] = await openLocks(3);
  const lease = await held(holder);
  const served: string[] = [];
  const shortAndLong = asOneOwner(async () => {
    const short = twice?.acquire(resource, { waitMs: 500 });
    const long = held(twice).then(async (own) => {
      served.push('twice');
      await own.release();
    });
    await untilInLine(1);
    expect(await short).toBeNull();
    await long;
  });
  await untilInLine(1);
  const after = held(rival).then(async (own) => {
    served.push('rival');
    await own.release();
  });
  await untilInLine(2);
  const line = () => redis.lrange(`redisson_lock_queue:{lock:${resource}}`, 0, -1);
  const before = await line();
  await new Promise((resolve) => setTimeout(resolve, 800)); // The shorter wait is over.
  expect(await line()).toEqual(before);
  await lease.release();
  await Promise.all([shortAndLong, after]);
  expect(served).toEqual(['twice', 'rival']);
  expect(await inLine()).toBe(0);
});

test('a mere try does not get in line', async () => {
  const [holder, other] = await openLocks(2);
  const lease = await held(holder);
  expect(await other?.acquire(resource, { waitMs: 0 })).toBeNull();
  expect(await inLine()).toBe(0);
  await lease.release();
});

test('who gives up while Redis is out of reach leaves the line once it is back', async () => {
  const [holder] = await openLocks(1);
  const lease = await held(holder);
  const proxy = await swallowingProxy(Number(new URL(quietRedis()).port));
  const connections = testConnections({ REDIS_URL: `redis://127.0.0.1:${proxy.port}` });
  const lock = ladderLock('redis-fair', connections);
  await connections.ready();
  const abort = new AbortController();
  const waiting = lock.acquire(resource, { waitMs: 20_000, signal: abort.signal });
  await untilInLine(1);
  proxy.cut();
  abort.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow();
  expect(await inLine()).toBe(1);
  proxy.mend();
  await untilInLine(0);
  await lease.release();
});

test('a late request to leave does not take the place of the next wait of its owner', async () => {
  const [holder, rival] = await openLocks(2);
  const lease = await held(holder);
  const proxy = await swallowingProxy(Number(new URL(quietRedis()).port));
  const connections = testConnections({ REDIS_URL: `redis://127.0.0.1:${proxy.port}` });
  const lock = ladderLock('redis-fair', connections);
  await connections.ready();
  await asOneOwner(async () => {
    const short = lock.acquire(resource, { waitMs: 20_000, signal: AbortSignal.timeout(500) });
    await untilInLine(1);
    const after = held(rival);
    await untilInLine(2);
    const line = () => redis.lrange(`redisson_lock_queue:{lock:${resource}}`, 0, -1);
    const before = await line();
    proxy.cut();
    await expect(short).rejects.toThrow(); // It could not leave the line yet.
    const again = new Promise<Lease>((resolve, reject) => {
      const wait = () => held(lock).then(resolve, reject);
      connections.redis('lock').once('ready', AsyncResource.bind(wait));
    });
    proxy.mend();
    await connections.ready();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await line()).toEqual(before);
    await lease.release();
    await (await again).release();
    await (await after).release();
  });
});

test('those behind one who does not come ask after it now and then, and not all the time', async () => {
  const [late] = await openLocks(1);
  await redis.rpush(`redisson_lock_queue:{lock:${resource}}`, 'dead:waiter');
  await redis.zadd(`redisson_lock_timeout:{lock:${resource}}`, Date.now() + 60_000, 'dead:waiter');
  const asked = async () =>
    Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
  const before = await asked();
  expect(await late?.acquire(resource, { waitMs: 1_000 })).toBeNull();
  expect((await asked()) - before).toBeLessThan(12);
});

test('a copy of a release that came before the grant does not cancel the next copy', async () => {
  const key = `lock:${resource}`;
  const line = [`redisson_lock_queue:{${key}}`, `redisson_lock_timeout:{${key}}`];
  const keys = [key, ...line, `redisson_lock__channel:{${key}}`, `latch:{${key}}`];
  const release = () =>
    runScript(redis, loadScript('locks/release-fair'), keys, ['0', '1000', 'me', '0', '60000']);
  await release();
  await redis.hset(key, 'me', 1); // The grant was late.
  await release();
  expect(await redis.exists(key)).toBe(0);
  await redis.hset(key, 'me', 1);
  await release(); // This copy counts once: the lock is that of the owner's next lease.
  expect(await redis.exists(key)).toBe(1);
});

test('a turn lasts as long as LOCK_TURN_MS says', async () => {
  const [holder] = await openLocks(1);
  const lease = await held(holder);
  const connections = testConnections({ REDIS_URL: quietRedis(), LOCK_TURN_MS: '60000' });
  const next = ladderLock('redis-fair', connections);
  await connections.ready();
  const waiting = next.acquire(resource, { waitMs: 20_000 });
  await untilInLine(1);
  const turns = `redisson_lock_timeout:{lock:${resource}}`;
  const [, passesAt] = await redis.zrange(turns, '0', '0', 'WITHSCORES');
  const leftMs = Number(passesAt) - Date.now(); // Of the lease that is held, and of the turn.
  expect(leftMs).toBeGreaterThan(50_000);
  expect(leftMs).toBeLessThan(70_000);
  await lease.release();
  await (await waiting)?.release();
});
