/** Waits for a condition, with a deadline. The lab never sleeps for a fixed time instead. */

import { setTimeout as sleep } from 'node:timers/promises';
import { DeadlinePassed } from '../../errors.ts';
import { Interrupted, ServerEnded } from '../errors.ts';

/**
 * Checks the condition every `everyMs` until it is true. An error counts as "not yet".
 * @throws DeadlinePassed
 */
export async function waitUntil(
  description: string,
  withinMs: number,
  condition: () => Promise<boolean> | boolean,
  everyMs = 25,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  let last: unknown;
  while (performance.now() < deadline) {
    try {
      if (await condition()) return;
    } catch (error) {
      // Then the condition can never become true.
      if (error instanceof ServerEnded || error instanceof Interrupted) throw error;
      last = error;
    }
    await sleep(everyMs);
  }
  throw new DeadlinePassed(description, withinMs, last);
}
