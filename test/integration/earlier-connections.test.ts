/**
 * The earlier connections of a client: they are ended before a release is sent, so that a request
 * that is still on its way there takes no effect after it.
 */
import { Cluster, Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { withRedis } from '../../src/lab/environment/replication.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import {
  earlierConnections,
  KeyLeases,
  releaseTries,
} from '../../src/service/locks/shared/server-lock.ts';
import { quietRedis, testConnections } from '../support/connections.ts';
import { openLock } from '../support/locks.ts';
import { startOwnRedis } from '../support/servers.ts';
import { proxyBefore } from '../support/test-proxy.ts';

const isReady = (redis: Redis) => waitUntil('the client', 20_000, () => redis.status === 'ready');
const untilAnswers = (redis: Redis) =>
  waitUntil('another connection', 20_000, async () => (await redis.ping()) === 'PONG');

/** The ids of all clients, as the server itself has them. */
async function idsOn(port: number): Promise<string[]> {
  const list = await withRedis(port, (redis) => redis.client('LIST'));
  return [...String(list).matchAll(/^id=(\d+)/gm)].map(([, id = '']) => id);
}

describe('the earlier connections of a client', () => {
  test('are ended by a later try, when the first one was not heard', async () => {
    const { port } = await startOwnRedis();
    const [first, second] = [await proxyBefore(port), await proxyBefore(port)];
    const redis = new Redis({ port: first.port, maxRetriesPerRequest: 0 });
    onTestFinished(() => redis.disconnect());
    redis.on('error', () => {});
    const earlier = earlierConnections(redis);
    await isReady(redis);
    const id = String(await redis.client('ID'));
    first.freeze(); // The server does not hear that it ends.
    redis.options.port = second.port;
    redis.disconnect(true);
    await untilAnswers(redis);
    second.hold();
    const ending = earlier.end();
    await new Promise((resolve) => setImmediate(resolve)); // By then it is sent.
    second.cut();
    await ending;
    expect(await idsOn(port)).toContain(id);
    second.mend();
    await untilAnswers(redis);
    await earlier.end();
    expect(await idsOn(port)).not.toContain(id);
  });

  test('are not known on a cluster, where a request goes to another node than CLIENT ID', () => {
    const cluster = new Cluster([{ port: 1 }], { lazyConnect: true });
    const before = cluster.listenerCount('ready');
    earlierConnections(cluster as unknown as Redis);
    expect(cluster.listenerCount('ready')).toBe(before);
  });
});

test('a release needs no CLIENT: a Redis may refuse it from some moment on', async () => {
  const { url } = await startOwnRedis();
  const { lock, connections } = await openLock('redis-atomic', { REDIS_URL: url });
  const redis = connections.redis('lock');
  const lease = await lock.acquire('seat', { waitMs: 0 });
  await redis.call('ACL', 'SETUSER', 'default', '-client');
  redis.disconnect(true); // The next connection learns nothing of itself.
  await untilAnswers(redis);
  await lease?.release();
  expect(await redis.exists('lock:seat')).toBe(0);
});

test('a release that is never answered is given up, and nobody hears of it', async () => {
  const connections = testConnections({ REDIS_URL: quietRedis() });
  const redis = connections.redis('lock');
  await connections.ready();
  let releases = 0;
  const refuse = async (): Promise<never> => {
    throw new Error('no answer');
  };
  const release = () => {
    releases += 1;
    return refuse();
  };
  const request = { resource: 'seat', leaseMs: 1_000, ask: refuse, release };
  await expect(new KeyLeases(redis, { answerMs: 20 }).lease(request)).rejects.toThrow('no answer');
  await waitUntil('the last release', 20_000, () => releases === releaseTries);
  await new Promise((resolve) => setImmediate(resolve)); // An unhandled error would fail this test.
});
