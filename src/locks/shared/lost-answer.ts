/** Requests and releases whose answer is lost: Redis hung, or the connection broke. */
import type { Redis } from 'ioredis';
import { untilAnswered } from '../../connections/redis.ts';
import { earlierConnections } from './earlier-connections.ts';

/** How often a release is sent, until Redis answers it: for 15 seconds with the default answer. */
export const releaseTries = 30;
/** The owner waits for so many of them. */
export const awaitedTries = 3;

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
  earlierConnections(redis);
  const isSent = redis.status === 'ready';
  try {
    return await ask();
  } catch (error) {
    if (isSent) untilReleased(redis, answerMs, release).catch(() => {});
    throw error;
  }
}

/**
 * Sends a release until Redis answers it, after the request that it releases can take no effect any
 * more. The release may run twice.
 */
export function untilReleased<T>(
  redis: Redis,
  answerMs: number,
  release: () => Promise<T>,
): Promise<T> {
  const earlier = earlierConnections(redis);
  return untilAnswered(redis, releaseTries, answerMs, async () => {
    await earlier.end();
    return release();
  });
}

/**
 * For the owner, who waits for the first tries only.
 * @throws the error of the last of them; the release is sent on in the background.
 */
export function releaseSoon(
  redis: Redis,
  answerMs: number,
  release: () => Promise<unknown>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let failures = 0;
    const counted = () =>
      release().catch((error: unknown) => {
        failures += 1;
        if (failures === awaitedTries) reject(error);
        throw error;
      });
    untilReleased(redis, answerMs, counted).then(() => resolve(), reject);
  });
}
