/**
 * What one instance takes: tries of a user in a second, and purchases at once.
 *
 * The tries are counted in the memory of the instance. A count in Redis would be exact for all
 * instances, but it would cost a purchase as much as the sale does, and fail together with it. A
 * library with a timer and a promise for each user cost a tenth of a purchase.
 */
import type { Config } from '../config.ts';

export interface PurchaseLimits {
  /** Of a user in a second. */
  readonly tries: number;
  /** How long this user must wait before another try; 0: not at all. Counts this try. */
  readonly msUntilTry: (userId: string) => number;
  /** Does the work of a purchase; `null`, and nothing is done, when too many are in progress. */
  readonly unlessFull: <T>(work: () => T | Promise<T>) => T | Promise<T> | null;
}

export function purchaseLimits({
  USER_TRIES_PER_SECOND: tries,
  PURCHASES_AT_ONCE: most,
}: Pick<Config, 'USER_TRIES_PER_SECOND' | 'PURCHASES_AT_ONCE'>): PurchaseLimits {
  let inProgress = 0;
  const done = () => {
    inProgress -= 1;
  };
  return {
    tries,
    msUntilTry: tries === 0 ? () => 0 : perSecond(tries),
    unlessFull: (work) => {
      if (inProgress >= most) return null;
      inProgress += 1;
      return finallyDo(work, done);
    },
  };
}

/** All users are counted anew in each second: across the end of one, a user has twice as many. */
function perSecond(tries: number): (userId: string) => number {
  let counts = new Map<string, number>();
  let untilMs = 0;
  return (userId) => {
    const nowMs = performance.now();
    if (nowMs >= untilMs) {
      counts = new Map();
      untilMs = nowMs + 1_000;
    }
    const count = (counts.get(userId) ?? 0) + 1;
    counts.set(userId, count);
    return count > tries ? untilMs - nowMs : 0;
  };
}

/** As `finally`, but without a promise where the work needs none. */
function finallyDo<T>(work: () => T | Promise<T>, done: () => void): T | Promise<T> {
  let result: T | Promise<T>;
  try {
    result = work();
  } catch (error) {
    done();
    throw error;
  }
  if (result instanceof Promise) return result.finally(done);
  done();
  return result;
}
