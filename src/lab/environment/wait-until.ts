/** Waits for a condition, with a deadline. The lab never sleeps for a fixed time instead. */

import { setTimeout as sleep } from 'node:timers/promises';
import { isServiceError, serviceError } from '../../service/errors.ts';
import { isLabError } from '../errors.ts';

/**
 * Checks the condition every `everyMs` until it is true. An error counts as "not yet".
 * @throws DEADLINE_PASSED
 */
export async function waitUntil(
  description: string,
  withinMs: number,
  condition: () => Promise<boolean> | boolean,
  everyMs?: number,
  signal?: AbortSignal,
): Promise<void> {
  await waitFor(description, withinMs, async () => (await condition()) || null, everyMs, signal);
}

/** False when its deadline passed. */
export const isInTime = (waiting: Promise<unknown>): Promise<boolean> =>
  waiting.then(
    () => true,
    (error: unknown) => {
      if (isServiceError(error, 'DEADLINE_PASSED')) return false;
      throw error;
    },
  );

/**
 * Looks for it every `everyMs`; null and an error count as "not yet".
 * @throws DEADLINE_PASSED, or the reason of the signal
 */
export async function waitFor<T>(
  description: string,
  withinMs: number,
  find: () => Promise<T | null>,
  everyMs = 25,
  signal?: AbortSignal,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  let last: unknown;
  for (;;) {
    signal?.throwIfAborted();
    // One look comes after the deadline: this process may have stood still until then.
    const isLast = performance.now() >= deadline;
    try {
      const found = await find();
      if (found !== null) return found;
    } catch (error) {
      // Then it can never be there.
      if (isLabError(error, 'SERVER_ENDED') || isLabError(error, 'INTERRUPTED')) throw error;
      last = error;
    }
    if (isLast) throw serviceError('DEADLINE_PASSED', description, withinMs).causedBy(last);
    await sleep(everyMs);
  }
}
