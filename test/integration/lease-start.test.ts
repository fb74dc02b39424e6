/** A lease is counted from its request: the answer may be late, and Redis began to count before. */
import { describe, expect, test } from 'vitest';
import { testConnections } from '../support/connections.ts';
import { held, openLock } from '../support/locks.ts';
import { ownLab } from '../support/own-lab.ts';
import { startOwnRedis } from '../support/servers.ts';
import { proxyBefore } from '../support/test-proxy.ts';

const lateMs = 200;
/** A timer may end a little before its time. */
const exactMs = 5;
const leaseMs = 2_000;
const locks = [
  ...(['redis-expiry', 'redis-owner', 'redis-atomic', 'redis-message'] as const),
  ...(['redis-reentrant', 'redis-reentrant-lease', 'redis-spin', 'redis-fair'] as const),
] as const;

const late = { type: 'latency', stream: 'downstream', latencyMs: lateMs } as const;

describe.each(locks)('%s', (name) => {
  test('counts its lease from the request, and not from the late answer', async () => {
    const { url } = await startOwnRedis();
    const proxy = await proxyBefore(url);
    const { lock } = await openLock(name, {
      ...{ REDIS_URL: proxy.url, ORDER_DURABILITY: 'everysec' },
      LOCK_LEASE_MS: String(leaseMs),
    });
    await (await held(lock, 'seat')).release(); // Redis knows its scripts.
    await proxy.setToxics([late]);
    const lease = await held(lock, 'seat', { leaseMs });
    expect(lease.remainingMs()).toBeLessThanOrEqual(leaseMs - lateMs + exactMs);
    await proxy.setToxics([]);
  });
});

test('a session of ZooKeeper is valid from its request on, and not from the late answer', async () => {
  const proxy = await proxyBefore(Number(ownLab.environment['ZOOKEEPER_URL']?.split(':')[1]));
  const connections = testConnections({ ZOOKEEPER_URL: `127.0.0.1:${proxy.port}` });
  const session = connections.zookeeper().session();
  await connections.ready();
  await proxy.setToxics([late]);
  await session.ask<unknown>((client, reply) => client.exists('/', reply));
  const mostMs = connections.config.ZOOKEEPER_SESSION_MS - lateMs + exactMs;
  expect(session.remainingMs()).toBeLessThanOrEqual(mostMs);
  expect(session.remainingMs()).toBeGreaterThan(0);
  await proxy.setToxics([]);
});
