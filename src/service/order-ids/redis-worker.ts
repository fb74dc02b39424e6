/**
 * Order ids from a counter in Redis: the seconds since 2022 in the upper bits, the day's count in
 * the lower 32. INCR returns each count once, so any number of processes may share the counter.
 */

import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { serviceError } from '../errors.ts';
import type { OrderIds } from './order-ids.ts';

const epochMs = Date.UTC(2022, 0, 1);
const countBits = 32n;
const largestCount = 2 ** 32 - 1;
const keptSeconds = 2 * 24 * 3_600;

/** A count of more than 32 bits would change the seconds, and make an id of the next second. */
export function composeId(timestampMs: number, count: number): string {
  const isCount = Number.isSafeInteger(count) && count > 0 && count <= largestCount;
  if (!isCount) throw serviceError('ORDER_ID_NOT_COUNTED', `${count} is not a count of 32 bits`);
  if (timestampMs < epochMs) throw serviceError('ORDER_ID_NOT_COUNTED', 'the clock is before 2022');
  const seconds = BigInt(Math.floor((timestampMs - epochMs) / 1_000));
  return ((seconds << countBits) | BigInt(count)).toString();
}

/** `lockstep:order-ids:2026:11:20`: the UTC day of the timestamp. */
export const counterKey = (timestampMs: number): string =>
  `lockstep:order-ids:${new Date(timestampMs).toISOString().slice(0, 10).replaceAll('-', ':')}`;

export function openRedisWorker(
  redis: Redis,
  log: Logger,
  now: () => number = () => Date.now(),
): OrderIds {
  const report = stateReporter(log);

  async function count(key: string): Promise<number> {
    try {
      const counted = await redis.incr(key);
      // Only after the first count of a day. If the EXPIRE is lost, a key of a few bytes stays for
      // ever, and no id changes.
      if (counted === 1) await redis.expire(key, keptSeconds).catch(() => {});
      report(true);
      return counted;
    } catch (error) {
      // INCR may have run: this count is skipped and never used.
      report(false, error);
      throw serviceError('ORDER_ID_NOT_COUNTED', 'Redis did not answer INCR').causedBy(error);
    }
  }

  return {
    next: async () => {
      // One timestamp for the id and for the key. With two, midnight could fall between them: an id
      // in the last second of the old day would get a count of the new day, and the old day's
      // counter may have given the same count to another id of that second.
      const timestampMs = now();
      return composeId(timestampMs, await count(counterKey(timestampMs)));
    },
    // Only an INCR would show a problem. For the writes of Redis, see /readyz.
    problem: () => null,
    close: () => {},
  };
}

/** Logs when the counter stops answering and when it answers again, once each. */
function stateReporter(log: Logger): (isCounting: boolean, error?: unknown) => void {
  let wasCounting = true;
  return (isCounting, error) => {
    if (isCounting === wasCounting) return;
    wasCounting = isCounting;
    if (isCounting) log.info({ event: 'order-ids-counted-again' });
    else log.warn({ event: 'order-ids-not-counted', error: String(error) });
  };
}
