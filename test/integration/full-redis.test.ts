/** A Redis without memory refuses writes that need some; a lock can be released all the same. */
import { expect, test } from 'vitest';
import { withRedis } from '../../src/lab/environment/replication.ts';
import type { RungName } from '../../src/ladder/rungs.ts';
import { asOneOwner } from '../../src/locks/shared/owner.ts';
import { testConnections } from '../support/connections.ts';
import { ladderLock } from '../support/ladder-lock.ts';
import { startOwnRedis } from '../support/own-redis.ts';

async function ownLock(name: RungName) {
  const { url } = await startOwnRedis();
  const connections = testConnections({ REDIS_URL: url, ORDER_DURABILITY: 'everysec' });
  const lock = ladderLock(name, connections);
  await connections.ready();
  await (await lock.acquire('before', { waitMs: 0 }))?.release(); // Its scripts are known now.
  const memory = (limit: string) =>
    withRedis(Number(new URL(url).port), async (redis) => {
      await redis.config('SET', 'maxmemory', limit);
    });
  return { lock, fill: () => memory('1'), clear: () => memory('0') };
}

const some: RungName[] = ['redis-owner', 'redis-atomic', 'redis-message'];
const reentrant: RungName[] = [
  'redis-reentrant',
  'redis-reentrant-lease',
  'redis-spin',
  'redis-fair',
];

test.each([...some, ...reentrant])('%s is released', async (name) => {
  const { lock, fill, clear } = await ownLock(name);
  const lease = await lock.acquire('seat', { waitMs: 0 });
  await fill();
  const failure = await lease?.release().catch((error: unknown) => error);
  expect(failure).toBeUndefined();
  await clear();
  expect(await lock.acquire('seat', { waitMs: 0 })).not.toBeNull();
});

test.each(reentrant)('%s is released twice by an owner that acquired it twice', async (name) => {
  const { lock, fill, clear } = await ownLock(name);
  await asOneOwner(async () => {
    const leases = [1, 2].map(() => lock.acquire('seat', { waitMs: 0 }));
    await Promise.all(leases);
    await fill();
    for (const lease of leases) await (await lease)?.release();
  });
  await clear();
  expect(await lock.acquire('seat', { waitMs: 0 })).not.toBeNull();
});

// redis-fair looks after its line first: after such a write Redis takes the others too.
test.each(['redis-atomic', 'redis-reentrant'] as const)(
  '%s is refused, and says why',
  async (name) => {
    const { lock, fill } = await ownLock(name);
    await fill();
    await expect(lock.acquire('other', { waitMs: 0 })).rejects.toMatchObject({
      code: 'LOCK_SERVICE_UNAVAILABLE',
      message: expect.stringMatching(/the lock server refused: .*OOM/),
    });
  },
);
