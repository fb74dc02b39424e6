/** A process starts by any node of a Redis Cluster that answers. */
import { expect, onTestFinished, test } from 'vitest';
import type { OwnRedis } from '../../src/lab/environment/own-redis.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { mostReplicas } from '../../src/service/connections/replicas.ts';
import { openConnections } from '../support/connections.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';

const key = '{sale:0}:epoch';

/** A process of the service: its connections are new. */
async function sells(settings: Readonly<Record<string, string>>): Promise<boolean> {
  const connections = openConnections({ REDIS_CLUSTER: '1', ...settings });
  try {
    const redis = connections.redis('purchase');
    await connections.ready();
    return await redis.setrange(key, 0, '').then(
      () => true,
      () => false,
    );
  } finally {
    await connections.close();
  }
}

test('the node of REDIS_URL is dead and replaced by its replica: another node is enough', async () => {
  const cluster = await startRedisCluster({ replicas: true });
  onTestFinished(() => cluster.stop());
  const [seed, ...others] = cluster.nodes as [OwnRedis, ...OwnRedis[]];
  const REDIS_CLUSTER_NODES = others.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const [REDIS_URL, isNamed] = [cluster.url, { REDIS_CLUSTER_NODES }];
  expect(await sells({ REDIS_URL })).toBe(true);
  await cluster.replicaOf(seed); // Without its data, it would not be elected.
  await seed.kill();
  expect(await sells({ REDIS_URL })).toBe(false);
  await waitUntil('another process to sell', 20_000, () => sells({ REDIS_URL, ...isNamed }));
}, 60_000);

test('each address of a name is tried, and the replicas of each master are known', async () => {
  const cluster = await startRedisCluster({ replicas: true });
  onTestFinished(() => cluster.stop());
  // By IPv6 nobody answers.
  expect(await sells({ REDIS_URL: cluster.url.replace('127.0.0.1', 'localhost') })).toBe(true);
  const connections = openConnections({ REDIS_URL: cluster.url, REDIS_CLUSTER: '1' });
  onTestFinished(() => connections.close());
  connections.redis('admin');
  await connections.ready();
  const masters = cluster.nodes.map(({ admin }) => admin);
  expect(await mostReplicas(connections, masters)).toBe(1);
  for (const redis of masters) await redis.call('ACL', 'SETUSER', 'default', '-cluster|nodes');
  await expect(mostReplicas(connections, masters)).rejects.toThrow(/^NOPERM/);
}, 60_000);
