/** A request for a lock whose answer is lost. */
import type { Redis } from 'ioredis';
import { untilAnswered } from '../../connections/redis.ts';

/** How often a release is sent, until Redis answers it. */
export const releaseTries = 3;

/**
 * Asks Redis for a lock. When the answer is lost, the lock may have been granted: it is released in
 * the background, on the next connection. If that is not answered either, the key expires.
 */
export async function orRelease<T>(
  redis: Redis,
  answerMs: number,
  ask: () => Promise<T>,
  release: () => Promise<unknown>,
): Promise<T> {
  const isSent = redis.status === 'ready';
  try {
    return await ask();
  } catch (error) {
    if (isSent) untilAnswered(redis, releaseTries, answerMs, release).catch(() => {});
    throw error;
  }
}
