/** A database of the test's own, and an empty one of Redis's own databases on the quiet Redis. */
import { randomInt } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { Connections } from '../../src/service/connections/connections.ts';
import { agreeOnEpoch } from '../../src/service/connections/epoch.ts';
import { migrate } from '../../src/service/connections/schema.ts';
import { quiet, quietRedis, testConnections } from './connections.ts';
import { ownDatabase } from './own-database.ts';

export type OwnStores = Readonly<Record<'MYSQL_URL' | 'REDIS_URL' | 'ORDER_DURABILITY', string>>;

export async function ownStores(): Promise<OwnStores> {
  const MYSQL_URL = await ownDatabase();
  await migrate(MYSQL_URL);
  const REDIS_URL = `${quietRedis()}/${randomInt(1, 16)}`;
  const stores = { MYSQL_URL, REDIS_URL, ORDER_DURABILITY: 'everysec' };
  const connections = testConnections(stores);
  const redis = connections.redis('admin');
  await connections.ready();
  await redis.flushdb();
  onTestFinished(async () => {
    await redis.flushdb();
  });
  return stores;
}

/** A process of the service: its connections are open. Closed with the test. */
export async function openProcess(stores: Readonly<Record<string, string>>): Promise<Connections> {
  const connections = testConnections({ CLAIM_IDLE_MS: '100', BATCH_GATHER_MS: '0', ...stores });
  for (const role of ['admin', 'purchase'] as const) connections.redis(role);
  await connections.ready();
  return connections;
}

/** A process that has compared the epochs, as every process of the service does when it starts. */
export async function startedProcess(
  stores: Readonly<Record<string, string>>,
): Promise<Connections> {
  const connections = await openProcess(stores);
  await agreeOnEpoch(connections, quiet);
  return connections;
}
