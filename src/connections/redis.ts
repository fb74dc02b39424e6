/**
 * One Redis client for each role. By default ioredis sends a command again after a reconnect, so a
 * purchase whose answer was lost would run twice. `maxRetriesPerRequest: 0` gives one error and at
 * most one effect.
 */
import { once } from 'node:events';
import { Cluster, Redis } from 'ioredis';
import type { Config } from '../config.ts';

/**
 * lock: short answers or none. purchase: the final rung's script. consumer: blocks in XREADGROUP,
 * so it is shared with nobody. subscriber: receives messages, and subscribes again after a
 * reconnect. admin: queries and preparation.
 */
export type RedisRole = 'lock' | 'purchase' | 'consumer' | 'subscriber' | 'admin';

const reconnectMs = (tries: number) => Math.min(50 * tries, 500) + Math.random() * 50;

/**
 * No offline queue either: a command that waited there would run long after its caller was told
 * that it failed.
 */
const sendOnce = {
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  connectTimeout: 1_000,
} as const;

function profile(role: RedisRole, config: Config) {
  switch (role) {
    case 'lock':
      return { ...sendOnce, commandTimeout: config.LOCK_ANSWER_MS };
    case 'purchase':
      return { ...sendOnce, commandTimeout: config.PURCHASE_ANSWER_MS };
    case 'subscriber':
      return { maxRetriesPerRequest: null };
    case 'consumer':
      return { maxRetriesPerRequest: null, blockingTimeout: 10_000 };
    case 'admin':
      return { ...sendOnce, commandTimeout: 5_000 };
  }
}

/** A late answer still took effect: callers treat every error of a write as `unknown`. */
export function openRedis(
  url: string,
  role: RedisRole,
  config: Config,
  onError: (error: Error) => void,
): Redis {
  const { maxRetriesPerRequest, ...own } = profile(role, config);
  // Redis 7.0 has no CLIENT SETINFO.
  const options = { ...own, disableClientInfo: true, connectionName: role };
  const isCluster = config.REDIS_CLUSTER && url === config.REDIS_URL;
  const redis = isCluster
    ? asRedis(
        new Cluster([url], {
          redisOptions: options,
          clusterRetryStrategy: reconnectMs,
          ...queueing(role),
        }),
      )
    : new Redis(url, { ...options, maxRetriesPerRequest, retryStrategy: reconnectMs });
  redis.on('error', onError);
  return redis;
}

/** A cluster client has its own offline queue, and sends a command again after MOVED only. */
const queueing = (role: RedisRole) => ({
  enableOfflineQueue: role === 'consumer' || role === 'subscriber',
  retryDelayOnFailover: 100,
  retryDelayOnClusterDown: 100,
});

/**
 * Both classes have the same commands, events and status; their types differ in the context of a
 * pipeline only.
 */
const asRedis = (cluster: Cluster): Redis => cluster as unknown as Redis;

/**
 * Sends again, on the next connection, a command that got no answer. Only for commands that may run
 * twice.
 * @throws the last error, after so many tries.
 */
export async function untilAnswered<T>(
  redis: Redis,
  tries: number,
  reconnectMs: number,
  send: () => Promise<T>,
): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await send();
    } catch (error) {
      if (tried === tries) throw error;
      await whenReady(redis, reconnectMs);
    }
  }
}

/**
 * Resolves once the client can take commands, or after `withinMs`: a server that is down must not
 * block a start.
 */
export async function whenReady(redis: Redis, withinMs: number): Promise<void> {
  if (redis.status === 'ready') return;
  const signal = AbortSignal.timeout(withinMs);
  await once(redis, 'ready', { signal }).catch(() => {});
}
