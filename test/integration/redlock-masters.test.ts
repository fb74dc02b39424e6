/**
 * Redlock on three masters of the test's own, some of which hang or forget. The clients here have
 * no limit themselves: what ends a wait is the limit of the lock.
 */
import { once } from 'node:events';
import { Redis, type RedisOptions } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { OwnRedis } from '../../src/lab/environment/own-redis.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import {
  LeaseLost,
  LockGrantedTooLate,
  LockMajorityMissing,
  LockServiceUnavailable,
} from '../../src/service/errors.ts';
import type { Lease, Lock, RedisLockOptions } from '../../src/service/locks/lock.ts';
import { redlockLock } from '../../src/service/locks/redlock.ts';
import { startOwnRedises } from '../support/servers.ts';

const key = 'lock:seat';
const soonMs = 10_000;
/** Its limit is longer than `soonMs`: a lock that waits for it is too slow. */
const patient = { answerMs: 2.4 * soonMs };

type ClientOptions = Pick<RedisOptions, 'lazyConnect' | 'maxRetriesPerRequest' | 'retryStrategy'>;

function open({ url }: OwnRedis, options: ClientOptions = {}): Redis {
  const redis = new Redis(url, options);
  redis.on('error', () => {});
  onTestFinished(() => redis.disconnect());
  return redis;
}

async function connect(servers: readonly OwnRedis[]): Promise<Redis[]> {
  const clients = servers.map((server) => open(server));
  await Promise.all(clients.map((redis) => once(redis, 'ready')));
  return clients;
}

/** A lock, the clients that it has, and one client more for each master: for a look at its keys. */
async function startRedlock(options: RedisLockOptions) {
  const servers = await startOwnRedises(3);
  const [clients, lookers] = [await connect(servers), await connect(servers)];
  return { servers, clients, lookers, lock: redlockLock(clients, options) };
}

async function held(lock: Lock, leaseMs?: number): Promise<Lease> {
  const lease = await lock.acquire('seat', { waitMs: soonMs, ...(leaseMs && { leaseMs }) });
  if (!lease) throw new Error('the lock was not free');
  return lease;
}

/** How many of these masters have the key. */
async function keysOn(...lookers: readonly Redis[]): Promise<number> {
  const counts = await Promise.all(lookers.map((redis) => redis.exists(key)));
  return counts.reduce((sum, count) => sum + count, 0);
}

const expectKeys = (count: number, lookers: readonly Redis[]) =>
  expect.poll(() => keysOn(...lookers), { timeout: soonMs }).toBe(count);

const pause = (...servers: readonly (OwnRedis | undefined)[]) =>
  Promise.all(servers.map((server) => server?.pause()));
const resume = (...servers: readonly (OwnRedis | undefined)[]) =>
  Promise.all(servers.map((server) => server?.resume()));
const errorOf = (work: Promise<unknown>) => work.then(() => null).catch((error: unknown) => error);
const hostOf = (server?: OwnRedis) => new URL(server?.url ?? '').host;

test('redlock · one of three masters hung · no acquire, renewal or release waits for it', async () => {
  const { servers, lookers, lock } = await startRedlock(patient);
  await pause(servers[0]);
  const startedAt = performance.now();
  const lease = await held(lock, 60_000);
  expect(performance.now() - startedAt).toBeLessThan(soonMs);
  expect(await lock.acquire('seat', { waitMs: 0 })).toBeNull();
  await lease.renew?.(120_000);
  expect(lease.remainingMs()).toBeGreaterThan(60_000);
  await lease.release();
  expect(await keysOn(...lookers.slice(1))).toBe(0);
  expect(performance.now() - startedAt).toBeLessThan(soonMs);
});

test('redlock · two of three masters hung · refuses after its limit, with the numbers, and leaves nothing behind', async () => {
  const { servers, lookers, lock } = await startRedlock({ answerMs: 400 });
  await pause(servers[0], servers[1]);
  const error = await errorOf(lock.acquire('seat', { waitMs: 0 }));
  expect(error).toBeInstanceOf(LockServiceUnavailable);
  const missing = [hostOf(servers[0]), hostOf(servers[1])];
  const numbers = { asked: 3, answered: 1, needed: 2, missing };
  expect(error).toMatchObject({ code: 'LOCK_MAJORITY_MISSING', ...numbers });
  expect((error as LockMajorityMissing).cause).toMatchObject({ code: 'DEADLINE_PASSED' });
  await expectKeys(0, lookers.slice(2));
  await resume(...servers);
  await expectKeys(0, lookers);
});

test('redlock · one of three masters dead, and another hung · a release says that it was not heard', async () => {
  const { servers, lookers, lock } = await startRedlock({ answerMs: 400 });
  const lease = await held(lock);
  await servers[0]?.kill();
  await pause(servers[1]);
  expect(await errorOf(lease.release())).toBeInstanceOf(LockMajorityMissing);
  expect(await keysOn(...lookers.slice(2))).toBe(0); // It is released where it was heard.
});

test('redlock · a split vote grants the lock to nobody, both release, and each gets it in the end', async () => {
  const { servers, lookers } = await startRedlock(patient);
  await servers[2]?.kill();
  // A contender holds its half until the dead master is given up. By itself, a client waits longer
  // for each new connection, up to 5 s.
  const retryStrategy = () => 50;
  // Each connects to one master only when it asks: the other one has asked that master by then.
  const contender = async (late: number) => {
    const clients = servers.map((server, place) =>
      open(server, { lazyConnect: place === late, maxRetriesPerRequest: 0, retryStrategy }),
    );
    await once(clients[1 - late] as Redis, 'ready');
    return redlockLock(clients, patient);
  };
  const locks = [await contender(0), await contender(1)];
  const tied = await Promise.all(
    locks.map((lock) => lock.acquire('seat', { waitMs: 0, leaseMs: 60_000 })),
  );
  expect(tied).toEqual([null, null]);
  // Their leases of a minute are far from over.
  await expectKeys(0, lookers.slice(0, 2));
  await Promise.all(locks.map(async (lock) => (await held(lock)).release()));
});

test('redlock · a master that was given up gets the release after the lock, and is free', async () => {
  const { servers, lookers, lock } = await startRedlock(patient);
  const [hung, looker] = [servers[2], lookers[2]];
  await looker?.config('RESETSTAT');
  await pause(hung);
  await (await held(lock)).release();
  await resume(hung);
  const heard = async () => await looker?.info('commandstats');
  await expect.poll(heard, { timeout: soonMs }).toContain('cmdstat_eval:calls=2');
  expect(await keysOn(...lookers)).toBe(0);
});

test('redlock · a master that was given up and never gets the release is free when its lease expires', async () => {
  const { servers, clients, lookers, lock } = await startRedlock(patient);
  await pause(servers[2]);
  const lease = await held(lock, 2_000);
  clients[2]?.disconnect(); // What it was sent is with the master already.
  await lease.release();
  await resume(servers[2]);
  await expectKeys(1, lookers);
  await expectKeys(0, lookers);
});

test.each(['goes on', 'stands still'])(
  'redlock · a lock that is granted after its lease is released and not returned, when the clock of the day %s',
  async (clock) => {
    const { servers, lookers, lock } = await startRedlock(patient);
    await pause(servers[0], servers[1]);
    const startedAt = performance.now();
    if (clock === 'stands still') vi.spyOn(Date, 'now').mockReturnValue(Date.now());
    onTestFinished(() => void vi.restoreAllMocks());
    const leaseMs = 1_500;
    const refused = errorOf(lock.acquire('seat', { waitMs: 0, leaseMs }));
    const isOver = () => performance.now() - startedAt > leaseMs;
    await waitUntil('the lease to be over', soonMs, isOver);
    await resume(...servers);
    const error = await refused;
    expect(error).toBeInstanceOf(LockServiceUnavailable);
    expect(error).toBeInstanceOf(LockGrantedTooLate);
    expect(error).toMatchObject({ code: 'LOCK_GRANTED_TOO_LATE', leaseMs, driftMs: 17 });
    expect(await keysOn(...lookers)).toBe(0); // Their keys would last a lease more.
  },
);

test('redlock · answers that arrived while the event loop stood still count', async () => {
  const { lock } = await startRedlock({ answerMs: 4_000 });
  const acquiring = lock.acquire('seat', { waitMs: 20_000 });
  const until = performance.now() + 2_800;
  while (performance.now() < until);
  expect(await errorOf(acquiring)).toBeNull();
});

test('redlock · a renewal that no majority confirms loses the lease: its key is gone', async () => {
  const { lookers, lock } = await startRedlock(patient);
  const lease = await held(lock);
  await Promise.all(lookers.slice(0, 2).map((redis) => redis.flushall()));
  expect(await errorOf(lease.renew?.(10_000) ?? Promise.resolve())).toBeInstanceOf(LeaseLost);
  expect(lease.signal.reason).toBeInstanceOf(LeaseLost);
  expect(() => lease.assertHeld()).toThrow('the lock service does not have it any more');
  await (await held(lock)).release(); // Also the third master is free.
});
