/** Redlock on the masters of the lab; with hung and dead ones: redlock-masters.test.ts. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { Lock } from '../../src/service/locks/lock.ts';
import { readyRedis, testConnections } from '../support/connections.ts';
import { held, ladderLock } from '../support/locks.ts';
import { ownLab } from '../support/own-lab.ts';
import { startOwnRedises } from '../support/servers.ts';

const masters = () => (ownLab.environment['REDLOCK_URLS'] ?? '').split(',');

async function redlockOver(...urls: (string | undefined)[]): Promise<Lock> {
  const connections = testConnections({ REDLOCK_URLS: urls.join(',') });
  const lock = ladderLock('redlock', connections);
  await Promise.all(connections.redlockMasters().map((redis) => once(redis, 'ready')));
  return lock;
}

test('redlock · a master that errs once in an attempt is a master that did not answer', async () => {
  const [first, second, third] = masters();
  for (const url of [second, third]) {
    const redis = await readyRedis(url ?? expect.unreachable());
    // Its lock script fails for want of memory, and its unlock script does not.
    await redis.config('SET', 'maxmemory', '1');
    onTestFinished(async () => void (await redis.config('SET', 'maxmemory', '0')));
  }
  const lock = await redlockOver(first, second, third);
  await expect(lock.acquire('test:once', { waitMs: 0 })).rejects.toThrow(
    'The lock on test:once is not available: 1 of 2 needed lock servers answered',
  );
});

test('redlock · a release after the lease has expired is no failure', async () => {
  const lock = await redlockOver(...masters());
  const lease = await held(lock, 'test:expired', { leaseMs: 2_000 });
  await once(lease.signal, 'abort');
  await sleep(100); // Its keys last longer than the lease, by the drift.
  expect(lease.remainingMs()).toBe(0);
  await lease.release();
});

test('redlock · a lease is shorter than its keys, by the drift that clocks may have', async () => {
  const lock = await redlockOver(...masters());
  const lease = await held(lock, 'test:validity', { leaseMs: 10_000 });
  expect(lease.remainingMs()).toBeLessThanOrEqual(9_900); // One in a hundred is for the clocks.
  expect(lease.remainingMs()).toBeGreaterThan(8_000);
});

test('redlock · a release that a master has answered is not sent again', async () => {
  const servers = await startOwnRedises(3);
  const lock = await redlockOver(...servers.map(({ url }) => url));
  for (const resource of ['one', 'other']) await (await held(lock, resource)).release();
  for (const { url } of servers) {
    const redis = await readyRedis(url);
    // Two requests and two releases. What came after the first lease was sent before the second.
    expect(await redis.info('commandstats')).toContain('cmdstat_eval:calls=4,');
  }
});
