/**
 * Order ids from a counter in Redis: the seconds since 2022 in the upper bits, the day's count in the lower 32. Redis
 * hands every count out once, so any number of processes may ask.
 */

import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { OrderIdNotCounted } from '../errors.ts';
import type { OrderIds } from './order-ids.ts';

const epochMs = Date.UTC(2022, 0, 1);
const countBits = 32n;
const largestCount = 2 ** 32 - 1;
const keptSeconds = 2 * 24 * 3_600;

/** One more than 32 bits hold would run into the seconds, and be an id of the next second. */
export function composeId(timestampMs: number, count: number): string {
  const isCount = Number.isSafeInteger(count) && count > 0 && count <= largestCount;
  if (!isCount) throw new OrderIdNotCounted(`${count} is not a count of 32 bits`);
  if (timestampMs < epochMs) throw new OrderIdNotCounted('the clock is before 2022');
  const seconds = BigInt(Math.floor((timestampMs - epochMs) / 1_000));
  return ((seconds << countBits) | BigInt(count)).toString();
}

/** `lockstep:order-ids:2026:11:20`: the day, in UTC, that the timestamp is in. */
export const counterKey = (timestampMs: number): string =>
  `lockstep:order-ids:${new Date(timestampMs).toISOString().slice(0, 10).replaceAll('-', ':')}`;

export function openRedisWorker(redis: Redis, log: Logger, now: () => number = Date.now): OrderIds {
  let counting = true;

  const tell = (counts: boolean, error?: unknown) => {
    if (counts === counting) return;
    counting = counts;
    if (counts) log.info({ event: 'order-ids-counted-again' });
    else log.warn({ event: 'order-ids-not-counted', error: String(error) });
  };

  const count = async (key: string): Promise<number> => {
    try {
      const counted = await redis.incr(key);
      // By the day's first alone: were its EXPIRE lost, a key of a few bytes would stay, and no id would change.
      if (counted === 1) await redis.expire(key, keptSeconds).catch(() => {});
      tell(true);
      return counted;
    } catch (error) {
      // The count may have gone up: it is skipped, never guessed.
      tell(false, error);
      throw new OrderIdNotCounted('Redis did not answer INCR', error);
    }
  };

  return {
    next: async () => {
      // One timestamp for the id and for the key: were midnight to fall between two, a count of the new day could be
      // put to the old day's last second, where the old day's own count of the same number may be.
      const timestampMs = now();
      return composeId(timestampMs, await count(counterKey(timestampMs)));
    },
    close: () => {},
  };
}
