/** MultiLock with masters missing, masters that forget, and leases that are set after the wait. */
import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { LeaseLost, LockMastersMissing } from '../../src/service/errors.ts';
import type { AcquireOptions, Lock } from '../../src/service/locks/lock.ts';
import { asOneOwner } from '../../src/service/locks/shared/owner.ts';
import { patient, quietRedis, testConnections } from '../support/connections.ts';
import { giveToSomebody, held, ladderLock, openLock } from '../support/locks.ts';
import { ownLab } from '../support/own-lab.ts';
import { someVoucherId } from '../support/sale.ts';
import { proxyBefore, type TestProxy } from '../support/test-proxy.ts';

/** Nobody listens there. The lock asks the first of them first, and the second one last. */
const [nobody, nobodyElse] = ['redis://:secret@127.0.0.1:1', 'redis://:secret@127.0.0.1:2'];
const isThere = (url = '') => ![nobody, nobodyElse].includes(url);
const urls = () => (ownLab.environment['REDLOCK_URLS'] ?? '').split(',');
const addressOf = (url = '') => new URL(url).host;

let resource: string;
let key: string;
/** One client for each master, for a look at its keys. */
let masters: Redis[];

beforeEach(async () => {
  resource = `test:${someVoucherId()}`;
  key = `lock:${resource}`;
  const connections = testConnections();
  masters = connections.redlockMasters('admin');
  await connections.ready();
});

/** Nothing that is freed is free because its lease ended. */
const longLeases = { LOCK_LEASE_MS: '60000', LOCK_WATCHDOG_MS: '60000' };

async function lockOver(
  servers: readonly (string | undefined)[],
  changes: Record<string, string> = {},
): Promise<Lock> {
  const settings = { ...patient, ...longLeases, ...changes };
  const connections = testConnections({ REDLOCK_URLS: servers.join(','), ...settings });
  const lock = ladderLock('multilock', connections);
  const there = connections.redlockMasters().filter((_, place) => isThere(servers[place]));
  await Promise.all(there.map((redis) => redis.status === 'ready' || once(redis, 'ready')));
  return lock;
}

/** The same lock, with a proxy before each master. */
async function lockBehindProxies(changes: Record<string, string> = {}) {
  const proxies = await Promise.all(urls().map((url) => proxyBefore(url)));
  const lock = await lockOver(
    proxies.map(({ url }) => url),
    changes,
  );
  // In the order in which the lock asks them.
  const sorted = proxies.sort((one, other) => (one.url < other.url ? -1 : 1));
  return { lock, first: sorted[0] as Proxied, last: sorted[2] as Proxied };
}
type Proxied = TestProxy;

const acquire = (lock: Lock, options: Partial<AcquireOptions> = {}) =>
  held(lock, resource, { waitMs: 50_000, ...options });

async function onHowMany(): Promise<number> {
  const exists = await Promise.all(masters.map((redis) => redis.exists(key)));
  return exists.filter(Boolean).length;
}

/** How many masters have the lock, in the end. */
const expectOn = (count: number) =>
  expect.poll(onHowMany, { message: 'masters that have the lock' }).toBe(count);

/** Until the test is over. */
async function takeAway(redis = masters[2] as Redis): Promise<void> {
  await giveToSomebody(redis, key);
  onTestFinished(async () => void (await redis.del(key)));
}

async function refusalOf(lock: Lock): Promise<LockMastersMissing> {
  const refusal: unknown = await lock.acquire(resource, { waitMs: 0 }).catch((error) => error);
  expect(refusal).toBeInstanceOf(LockMastersMissing);
  return refusal as LockMastersMissing;
}

test.each([
  ['first', nobody],
  ['last', nobodyElse],
])(
  'with its %s master down it is not available, says so, and frees what it took',
  async (_, url) => {
    const [one, two] = urls();
    const refusal = await refusalOf(await lockOver([one, url, two]));
    const missing = addressOf(url);
    expect(refusal).toMatchObject({ code: 'LOCK_MASTERS_MISSING', missing: [missing] });
    expect(refusal.message).toContain(`it needs all of 3 masters, and lacks ${missing}.`);
    expect(refusal.message).not.toContain('secret');
    await expectOn(0);
  },
);

test('every master that is down is named', async () => {
  const { missing } = await refusalOf(await lockOver([urls()[0], nobodyElse, nobody]));
  expect(missing).toEqual(['127.0.0.1:1', '127.0.0.1:2']);
});

test('a master that answers with an error is missing, and the others are freed', async () => {
  const [, , last = ''] = urls();
  const redis = masters[2] as Redis;
  await redis.config('SET', 'maxmemory', '1');
  onTestFinished(async () => void (await redis.config('SET', 'maxmemory', '0')));
  const refusal = await refusalOf(await lockOver(urls()));
  expect(refusal.missing).toEqual([addressOf(last)]);
  expect(String((refusal.cause as Error).cause)).toContain('OOM');
  await expectOn(0);
});

test('a grant whose answer was lost is released, as are the others', async () => {
  const { lock, first } = await lockBehindProxies();
  await (await acquire(lock)).release(); // Its scripts are known now.
  first.swallowNextAnswer(key);
  expect((await refusalOf(lock)).missing).toEqual([addressOf(first.url)]);
  await expectOn(0);
});

test('a master that hangs costs one answer time, and the others are freed', async () => {
  const { lock, last } = await lockBehindProxies();
  last.hold();
  const askedAt = performance.now();
  expect((await refusalOf(lock)).missing).toEqual([addressOf(last.url)]);
  expect(performance.now() - askedAt, 'milliseconds').toBeLessThan(5_900); // LOCK_ANSWER_MS: 3000.
  await expectOn(0);
});

test('an owner that finds one master taken frees the others, and gets null', async () => {
  const lock = await lockOver(urls());
  await takeAway();
  expect(await lock.acquire(resource, { waitMs: 100 })).toBeNull();
  await expectOn(1);
});

test('one master that remembers keeps all others out; the lease is lost with the last', async () => {
  const lock = await lockOver(urls(), { LOCK_WATCHDOG_MS: '3000', LOCK_ANSWER_MS: '1000' });
  const lease = await asOneOwner(() => acquire(lock));
  for (const redis of masters.slice(0, 2)) await redis.del(key);
  expect(await lock.acquire(resource, { waitMs: 4_000 })).toBeNull(); // Longer than a lease.
  expect(lease.signal.aborted).toBe(false);
  expect(lease.remainingMs()).toBeGreaterThan(0);
  expect(() => lease.assertHeld()).not.toThrow();
  await masters[2]?.del(key);
  await waitUntil('the lease to be lost', 20_000, () => lease.signal.aborted);
  expect(lease.signal.reason).toBeInstanceOf(LeaseLost);
  expect(lease.remainingMs()).toBe(0);
  expect(() => lease.assertHeld()).toThrow(`The lease on ${resource} ended`);
});

test('a release goes on past a dead master, names it, and nobody renews the lease', async () => {
  const short = { LOCK_WATCHDOG_MS: '3000', LOCK_ANSWER_MS: '1000' };
  const { lock, first } = await lockBehindProxies(short);
  const lease = await acquire(lock);
  first.cut();
  const release = lease.release().catch((error: unknown) => error);
  await expectOn(1);
  expect(await release).toMatchObject({
    code: 'LOCK_MASTERS_MISSING',
    missing: [addressOf(first.url)],
  });
  first.mend();
  await expectOn(0);
});

test('while it waits its leases last twice the wait, then as long as it asked for', async () => {
  const lock = await lockOver(urls());
  const ends = () => Promise.all(masters.map((redis) => redis.pttl(key)));
  await takeAway();
  const waiting = lock.acquire(resource, { waitMs: 6_000, leaseMs: 400 });
  await expectOn(3);
  for (const end of (await ends()).slice(0, 2)) expect(end).toBeGreaterThan(6_000);
  await masters[2]?.del(key); // Without a message: the waiter asks again at the end of its wait.
  const lease = await waiting;
  for (const end of await ends()) expect(end).toBeLessThanOrEqual(400);
  expect(lease?.remainingMs()).toBeLessThanOrEqual(400);
  await waitUntil('its end', 20_000, () => lease?.signal.aborted === true);
  expect(String(lease?.signal.reason)).toContain('ended after 400 ms');
});

test('a lease that another owner has by now is not renewed, and is lost', async () => {
  const { lock } = await openLock('redis-reentrant', { REDIS_URL: quietRedis() });
  const lease = await acquire(lock, { leaseMs: 60_000 });
  await takeAway(masters[0]);
  await lease.renew?.(100);
  expect(await masters[0]?.pttl(key)).toBeGreaterThan(10_000);
  expect(lease.signal.reason).toBeInstanceOf(LeaseLost);
});

test('a lease inside another is a new one when the outer one expired during a stall', async () => {
  const lock = await lockOver(urls());
  await asOneOwner(async () => {
    const outer = await acquire(lock, { leaseMs: 200 });
    const until = performance.now() + 300;
    while (performance.now() < until);
    expect((await acquire(lock)).remainingMs()).toBeGreaterThan(0);
    expect(outer.remainingMs()).toBe(0);
  });
});

test('processes with the masters in another order do not wait for each other', async () => {
  const locks = [await lockOver(urls()), await lockOver(urls().toReversed())];
  for (let time = 0; time < 20; time++) {
    const startedAt = performance.now();
    await Promise.all(locks.map(async (lock) => (await acquire(lock)).release()));
    expect(performance.now() - startedAt, 'milliseconds for both').toBeLessThan(10_000);
  }
});

test('after a wait without an end, each master has the lease that was asked for', async () => {
  const lock = await lockOver(urls());
  await acquire(lock, { waitMs: Number.POSITIVE_INFINITY, leaseMs: 20_000 });
  const expiries = await Promise.all(masters.map((redis) => redis.pttl(key)));
  expect(Math.max(...expiries)).toBeLessThanOrEqual(20_000); // Each is its own, and was renewed.
});
