/** Locks with messages on a Redis Cluster of three masters. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { held, openLock } from '../support/locks.ts';
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts';

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster();
});
afterAll(() => cluster?.stop());

/** @returns how many connections had subscribed */
async function killSubscribers(): Promise<number> {
  const killed = cluster.nodes.map(({ admin }) => admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub'));
  return (await Promise.all(killed)).reduce<number>((sum, each) => sum + Number(each), 0);
}

/** No subscriber lives long enough to hear a message. */
async function killUntil(stop: AbortSignal): Promise<number> {
  let killed = await killSubscribers();
  while (!stop.aborted) killed += await killSubscribers();
  return killed;
}

async function channels(): Promise<number> {
  const found = cluster.nodes.map(({ admin }) => admin.pubsub('CHANNELS', '*'));
  return (await Promise.all(found)).flat().length;
}

test.each(['redis-message', 'redis-reentrant', 'redis-fair'] as const)(
  'a waiter of %s gets the lock although its subscription was lost at the release',
  async (rung) => {
    const leases = { LOCK_LEASE_MS: '30000', LOCK_WATCHDOG_MS: '30000' };
    const settings = { REDIS_URL: cluster.url, REDIS_CLUSTER: '1', ...leases };
    const [owner, waiter] = [await openLock(rung, settings), await openLock(rung, settings)];
    const lease = await held(owner.lock, 'seat', { waitMs: 0 });
    const next = held(waiter.lock, 'seat', { waitMs: 8_000 });
    await waitUntil('the waiter to listen', 5_000, async () => (await channels()) > 0);
    await sleep(300); // It asks once more after it has subscribed.
    const released = new AbortController();
    const killing = killUntil(released.signal);
    await lease.release();
    released.abort();
    expect(await killing).toBeGreaterThan(0);
    await next; // The lease of the owner is longer than the wait.
  },
);
