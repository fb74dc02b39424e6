/** Requests and releases whose answer is lost: Redis hung, or the connection broke. */
import type { Redis } from 'ioredis';
import { untilAnswered } from '../../connections/redis.ts';
import { DeadlinePassed } from '../../errors.ts';
import { inTime } from './deadlines.ts';
import { earlierConnections } from './earlier-connections.ts';

/** How often a release is sent, until Redis answers it: for 15 seconds with the default answer. */
export const releaseTries = 30;
/** The caller of a release waits for so many answer times. */
const awaitedAnswers = 3;

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
 * For the owner, who does not wait for all of that.
 * @throws DeadlinePassed while the release is still sent, in the background.
 */
export async function releasedSoon(releasing: Promise<unknown>, answerMs: number): Promise<void> {
  releasing.catch(() => {}); // Nobody may wait for it any more.
  const mostMs = awaitedAnswers * answerMs;
  const answer = await inTime(
    releasing.then(() => true),
    mostMs,
  );
  if (!answer) throw new DeadlinePassed('an answer to the release', mostMs);
}
