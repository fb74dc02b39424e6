/**
 * One Redis client for each role. ioredis by default sends a command again after a reconnect: a purchase whose reply
 * was lost would run twice. `maxRetriesPerRequest: 0` gives one rejection and one effect at most.
 */
import { once } from 'node:events';
import { Redis } from 'ioredis';
import type { Config } from '../config.ts';

/**
 * lock: short answers or none. purchase: the final rung's script. consumer: blocks in XREADGROUP, so it shares with
 * nobody. subscriber: hears messages, and subscribes again after a reconnect. admin: looking and preparing.
 */
export type RedisRole = 'lock' | 'purchase' | 'consumer' | 'subscriber' | 'admin';

const reconnectMs = (tries: number) => Math.min(50 * tries, 500) + Math.random() * 50;

/** No offline queue either: a command that waited there would run long after its caller was told that it failed. */
const sendOnce = { maxRetriesPerRequest: 0, enableOfflineQueue: false, connectTimeout: 1_000 } as const;

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

/** An answer that comes late still took effect: callers treat every error of a write as `unknown`. */
export function openRedis(
  url: string,
  role: RedisRole,
  config: Config,
  onError: (error: Error) => void,
): Redis {
  const redis = new Redis(url, {
    ...profile(role, config),
    retryStrategy: reconnectMs,
    disableClientInfo: true, // Redis 7.0 does not know CLIENT SETINFO.
    connectionName: role,
  });
  redis.on('error', onError);
  return redis;
}

/**
 * Sends again, on the next connection, what had no answer; for what may be done twice.
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

/** Resolves once the client can take commands, or when `withinMs` is over: a server that is down must not block a start. */
export async function whenReady(redis: Redis, withinMs: number): Promise<void> {
  if (redis.status === 'ready') return;
  const signal = AbortSignal.timeout(withinMs);
  await once(redis, 'ready', { signal }).catch(() => {});
}
