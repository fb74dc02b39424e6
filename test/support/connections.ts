/** Connections to the test lab's servers, as a process of the service would open them. */
import type { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { readConfig } from '../../src/service/config.ts';
import { Connections } from '../../src/service/connections/connections.ts';
import type { RedisRole } from '../../src/service/connections/redis.ts';
import { quiet } from './basics.ts';
import { ownLab } from './own-lab.ts';

export { quiet };

/**
 * A Redis that the lab's own order workers do not read, so that a test alone settles what it
 * queues.
 */
export const quietRedis = (): string =>
  (ownLab.environment['REDLOCK_URLS'] ?? '').split(',')[0] ?? '';

/** For tests of what a lock does, and not of how soon: a disk that syncs slowly is no failure. */
export const patient = {
  LOCK_ANSWER_MS: '3000',
  LOCK_LEASE_MS: '10000',
  LOCK_WATCHDOG_MS: '10000',
  ZOOKEEPER_SESSION_MS: '10000',
} as const;

/** Opened with the lab's configuration and these changes; not closed by itself. */
export function openConnections(changes: Readonly<Record<string, string>> = {}): Connections {
  return new Connections(readConfig({ ...ownLab.environment, ...changes }), quiet);
}

/** Closed when the test is over. */
export function testConnections(changes: Readonly<Record<string, string>> = {}): Connections {
  const connections = openConnections(changes);
  onTestFinished(() => connections.close());
  return connections;
}

/** The clients of these roles are connected. */
export async function readyConnections(
  changes: Readonly<Record<string, string>> = {},
  ...roles: readonly RedisRole[]
): Promise<Connections> {
  const connections = testConnections(changes);
  for (const role of ['admin', ...roles] as const) connections.redis(role);
  await connections.ready();
  return connections;
}

/** A client of the role `admin`, for a look at a Redis. It is connected. */
export const readyRedis = async (REDIS_URL = quietRedis()): Promise<Redis> =>
  (await readyConnections({ REDIS_URL })).redis('admin');

/** How often this Redis has run a command. */
export async function callsOf(redis: Redis, command: string): Promise<number> {
  const stats = await redis.info('commandstats');
  return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
}
