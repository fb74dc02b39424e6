/** A lease is counted from its request: the answer may be late, and Redis began to count before. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { TcpProxy } from '../../src/lab/environment/proxy/tcp-proxy.ts';
import { testConnections } from '../support/connections.ts';
import { ladderLock } from '../support/ladder-lock.ts';
import { ownPorts } from '../support/own-ports.ts';
import { startOwnRedis } from '../support/own-redis.ts';

const lateMs = 200;
/** A timer may end a little before its time. */
const exactMs = 5;
const leaseMs = 2_000;
const locks = [
  ...(['redis-expiry', 'redis-owner', 'redis-atomic', 'redis-message'] as const),
  ...(['redis-reentrant', 'redis-spin', 'redis-fair'] as const),
] as const;

describe.each(locks)('%s', (name) => {
  test('counts its lease from the request, and not from the late answer', async () => {
    const { url } = await startOwnRedis();
    const port = await ownPorts(19_500);
    const proxy = new TcpProxy(port, Number(new URL(url).port));
    await proxy.listen();
    onTestFinished(() => proxy.setToxics([{ type: 'down', latencyMs: 0 }]));
    const connections = testConnections({
      ...{ REDIS_URL: `redis://127.0.0.1:${port}`, ORDER_DURABILITY: 'everysec' },
      LOCK_LEASE_MS: String(leaseMs),
    });
    connections.redis('admin');
    const lock = ladderLock(name, connections);
    await connections.ready();
    await (await lock.acquire('seat', { waitMs: 0 }))?.release(); // Redis knows its scripts.
    await proxy.setToxics([{ type: 'latency', stream: 'downstream', latencyMs: lateMs }]);
    const lease = await lock.acquire('seat', { waitMs: 0, leaseMs });
    expect(lease?.remainingMs()).toBeLessThanOrEqual(leaseMs - lateMs + exactMs);
    await proxy.setToxics([]);
    await lease?.release();
  });
});
