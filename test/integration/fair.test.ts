/**
 * What the contract cannot say of the fair lock: the order of its line, and what becomes of those
 * who leave it.
 */
import { AsyncResource } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { beforeEach, expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { loadScript, runScript } from '../../src/service/connections/scripts.ts';
import type { AcquireOptions, Lease, Lock } from '../../src/service/locks/lock.ts';
import { asOneOwner } from '../../src/service/locks/shared/owner.ts';
import { callsOf, quietRedis, readyRedis } from '../support/connections.ts';
import { expectSoon, giveToSomebody, held, openLock } from '../support/locks.ts';
import { someVoucherId } from '../support/sale.ts';
import { proxyBefore } from '../support/test-proxy.ts';

let resource: string;
let key: string;
/** Those who wait, the first first; and when the turn of each times out. */
let line: string;
let turns: string;
/** The beginning of every waiter's channel. */
let channel: string;
/** For a look at these keys. */
let redis: Redis;

beforeEach(async () => {
  resource = `test:${someVoucherId()}`;
  key = `lock:${resource}`;
  line = `redisson_lock_queue:{${key}}`;
  turns = `redisson_lock_timeout:{${key}}`;
  channel = `redisson_lock__channel:{${key}}`;
  redis = await readyRedis();
});

const openFair = (changes = {}) => openLock('redis-fair', { REDIS_URL: quietRedis(), ...changes });
/** In a client of its own, as in a process of its own. */
const fairLock = async (): Promise<Lock> => (await openFair()).lock;

async function openBehindProxy() {
  const proxy = await proxyBefore(quietRedis());
  return { proxy, ...(await openFair({ REDIS_URL: proxy.url })) };
}

const acquire = (lock: Lock, options: Partial<AcquireOptions> = {}): Promise<Lease> =>
  held(lock, resource, { waitMs: 50_000, ...options });

const inLine = () => redis.llen(line);
const whole = () => redis.lrange(line, 0, -1);
const untilInLine = (count: number) =>
  waitUntil(`${count} in line`, 20_000, async () => (await inLine()) === count);

/** Waits until it is told to leave the line. */
function waiter(lock: Lock): { readonly leave: () => Promise<void> } {
  const abort = new AbortController();
  const waiting = acquire(lock, { signal: abort.signal });
  const leave = async () => {
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  };
  return { leave };
}

/** Acquires it, notes that it was served, and releases it. */
async function takeTurn<Name>(lock: Lock, served: Name[], name: Name): Promise<void> {
  const lease = await acquire(lock);
  served.push(name);
  await lease.release();
}

/** One who never comes: its process is dead, or stopped. */
async function standInLine(who: string, passesAt: number): Promise<void> {
  await redis.multi().rpush(line, who).zadd(turns, passesAt, who).exec();
}
const inAMinute = () => Date.now() + 60_000;

/** Until these hear what is sent to their channels. */
async function untilListening(...waiters: readonly string[]): Promise<void> {
  const channels = waiters.map((each) => `${channel}:${each}`);
  await waitUntil('them to listen', 20_000, async () => {
    const counts = await redis.pubsub('NUMSUB', ...channels);
    return channels.every((_, index) => Number(counts[2 * index + 1]) === 1);
  });
}

test('the lock goes to those who wait in the order in which they came', async () => {
  const lease = await acquire(await fairLock());
  const served: number[] = [];
  const waiting: Promise<void>[] = [];
  for (let place = 1; place <= 5; place++) {
    waiting.push(takeTurn(await fairLock(), served, place));
    await untilInLine(place);
  }
  await lease.release();
  await Promise.all(waiting);
  expect(served).toEqual([1, 2, 3, 4, 5]);
  expect(await redis.exists(turns)).toBe(0);
});

test('nobody who comes later gets in before those in line, also while the lock is free', async () => {
  await standInLine('stopped:process', inAMinute());
  const late = await fairLock();
  expect(await late.acquire(resource, { waitMs: 300 })).toBeNull();
});

test('a mere try does not get in line', async () => {
  const [holder, other] = [await fairLock(), await fairLock()];
  await acquire(holder);
  expect(await other.acquire(resource, { waitMs: 0 })).toBeNull();
  expect(await inLine()).toBe(0);
});

test('who gives up or is aborted leaves the line, and the next one’s turn comes', async () => {
  const [holder, impatient] = [await fairLock(), await fairLock()];
  const [aborted, patient] = [await fairLock(), await fairLock()];
  const lease = await acquire(holder);
  const first = impatient.acquire(resource, { waitMs: 4_000 });
  await untilInLine(1);
  const second = waiter(aborted);
  await untilInLine(2);
  const third = acquire(patient);
  await untilInLine(3);
  expect(await first).toBeNull();
  await second.leave();
  await untilInLine(1);
  await lease.release();
  await (await third).release();
  expect(await inLine()).toBe(0);
});

/** When the turn of each waiter times out, the earliest first; in milliseconds. */
async function turnsEnd(): Promise<number[]> {
  const scores = await redis.zrange(turns, 0, '-1', 'WITHSCORES');
  return scores.filter((_, index) => index % 2 === 1).map(Number);
}

test('a grant, and a waiter that leaves, make the turns behind one turn earlier', async () => {
  const turnMs = 300_000;
  const lease = await acquire(await fairLock());
  const second = acquire(await fairLock());
  await untilInLine(1);
  const third = waiter(await fairLock());
  await untilInLine(2);
  const fourth = acquire(await fairLock());
  await untilInLine(3);
  const before = await turnsEnd();
  await lease.release();
  const own = await second;
  expect(await turnsEnd()).toEqual(before.slice(1).map((end) => end - turnMs));
  await third.leave();
  await untilInLine(1);
  expect(await turnsEnd()).toEqual(before.slice(2).map((end) => end - 2 * turnMs));
  await own.release();
  await fourth;
});

test('a turn that has passed is passed over', async () => {
  const lease = await acquire(await fairLock());
  await standInLine('dead:waiter', Date.now() - 1);
  const waiting = acquire(await fairLock());
  const first = () => redis.lindex(line, 0);
  await waitUntil(
    'the live one to be first',
    20_000,
    async () => (await first()) !== 'dead:waiter',
  );
  expect(await inLine()).toBe(1);
  await lease.release();
  await waiting;
});

test('the next in line is notified by the one that removes a turn that timed out', async () => {
  const late = await fairLock();
  await giveToSomebody(redis, key);
  await standInLine('short:turn', inAMinute());
  const next = acquire(await fairLock());
  await untilInLine(2);
  const [, own = ''] = await whole();
  await untilListening(own);
  // At once: the waiter asks again after it subscribed, and would remove the turn by itself.
  await redis
    .multi()
    .zadd(turns, Date.now() - 1, 'short:turn')
    .del(key)
    .exec();
  expect(await late.acquire(resource, { waitMs: 0 })).toBeNull();
  await expectSoon(next.then((lease) => lease.release()));
});

test('a living waiter whose turn timed out in a line that was never empty is woken by the release', async () => {
  const lease = await acquire(await fairLock(), { leaseMs: 60_000 });
  const next = acquire(await fairLock());
  await untilInLine(1);
  const [own = ''] = await whole();
  await waitUntil('it to sleep', 20_000, async () => {
    await redis.zadd(turns, 1, own);
    await sleep(300); // A waiter that asks meanwhile has a new turn.
    return (await redis.zscore(turns, own)) === '1';
  });
  await lease.release();
  await expectSoon(next.then((lease) => lease.release()));
});

test('whoever is first when the one before leaves is called, if the lock is free by then', async () => {
  await giveToSomebody(redis, key); // So that only the leaving can be what calls the next.
  const first = waiter(await fairLock());
  await untilInLine(1);
  const second = acquire(await fairLock());
  await untilInLine(2);
  await untilListening(...(await whole()));
  await redis.del(key);
  await first.leave();
  await expectSoon(second.then((lease) => lease.release()));
});

test('two waits of one owner take one place, which the end of the shorter one does not lose', async () => {
  const [holder, twice, rival] = [await fairLock(), await fairLock(), await fairLock()];
  const lease = await acquire(holder);
  const served: string[] = [];
  const [short, long] = asOneOwner(
    () => [twice.acquire(resource, { waitMs: 500 }), takeTurn(twice, served, 'twice')] as const,
  );
  await untilInLine(1);
  const after = takeTurn(rival, served, 'rival');
  await untilInLine(2);
  const before = await whole();
  expect(await short).toBeNull();
  await sleep(300); // By then it would have left.
  expect(await whole()).toEqual(before);
  await lease.release();
  await Promise.all([long, after]);
  expect(served).toEqual(['twice', 'rival']);
  expect(await inLine()).toBe(0);
});

test('who gives up while Redis is out of reach leaves the line once it is back', async () => {
  await acquire(await fairLock());
  const { proxy, lock } = await openBehindProxy();
  const waiting = waiter(lock);
  await untilInLine(1);
  proxy.cut();
  await waiting.leave();
  expect(await inLine()).toBe(1);
  proxy.mend();
  await untilInLine(0);
});

test('a late request to leave does not take the place of the next wait of its owner', async () => {
  const [holder, rival] = [await fairLock(), await fairLock()];
  const lease = await acquire(holder);
  const { proxy, lock, connections } = await openBehindProxy();
  await asOneOwner(async () => {
    const short = waiter(lock);
    await untilInLine(1);
    const after = acquire(rival);
    await untilInLine(2);
    const before = await whole();
    proxy.cut();
    await short.leave(); // It cannot leave the line yet.
    const again = new Promise<Lease>((resolve, reject) => {
      const wait = () => acquire(lock).then(resolve, reject);
      connections.redis('lock').once('ready', AsyncResource.bind(wait));
    });
    proxy.mend();
    await connections.ready();
    await sleep(300); // By then it would have left.
    expect(await whole()).toEqual(before);
    await lease.release();
    await (await again).release();
    await after;
  });
});

test('those behind one who does not come ask after it now and then, and not all the time', async () => {
  const late = await fairLock();
  await standInLine('dead:waiter', inAMinute());
  const asked = () => callsOf(redis, 'evalsha');
  const before = await asked();
  expect(await late.acquire(resource, { waitMs: 1_000 })).toBeNull();
  expect((await asked()) - before).toBeLessThan(12);
});

test('a copy of a release that came before the grant does not cancel the next copy', async () => {
  const keys = [key, line, turns, channel, `latch:{${key}}`];
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
  const lease = await acquire(await fairLock());
  const next = await openFair({ LOCK_TURN_MS: '60000' });
  const waiting = acquire(next.lock);
  await untilInLine(1);
  const [passesAt = 0] = await turnsEnd();
  const leftMs = passesAt - Date.now(); // Of the lease that is held, and of the turn.
  expect(leftMs).toBeGreaterThan(50_000);
  expect(leftMs).toBeLessThan(70_000);
  await lease.release();
  await waiting;
});
