/** What the contract cannot say of the lock that waits for a message. */
import { expect, test } from 'vitest';
import { testConnections } from '../support/connections.ts';
import { ladderLock } from '../support/locks.ts';
import { startOwnRedis } from '../support/servers.ts';

test('beside a key without an expiry, a waiter sleeps until its time is over', async () => {
  const { url } = await startOwnRedis();
  const connections = testConnections({ REDIS_URL: url, ORDER_DURABILITY: 'everysec' });
  const redis = connections.redis('admin');
  const lock = ladderLock('redis-message', connections);
  await connections.ready();
  await redis.set('lock:seat', 'of nobody');
  expect(await lock.acquire('seat', { waitMs: 500 })).toBeNull();
  const stats = await redis.info('commandstats');
  expect(Number(/^cmdstat_pttl:calls=(\d+)/m.exec(stats)?.[1])).toBeLessThan(5);
});
