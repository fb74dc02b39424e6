/** Waiting for a condition, with a deadline: the lab never sleeps and hopes. */

import { setTimeout as sleep } from 'node:timers/promises';
import { DeadlinePassed } from '../../errors.ts';
import { Interrupted, ServerEnded } from '../errors.ts';

/** Asks every `everyMs` until the answer is true; an error counts as "not yet". @throws DeadlinePassed */
export async function waitUntil(
  what: string,
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
      if (error instanceof ServerEnded || error instanceof Interrupted) throw error; // It will never come.
      last = error;
    }
    await sleep(everyMs);
  }
  throw new DeadlinePassed(what, withinMs, last);
}
