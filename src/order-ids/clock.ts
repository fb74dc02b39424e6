/**
 * A clock that steps back. A small step is waited out: ids stay on the latest timestamp until the clock is there again.
 * A large one is a clock that nobody should date orders by. Each is said once, and so is its end.
 */

import type { Logger } from 'pino';
import { ClockSteppedBack } from '../errors.ts';

/** The most that ids may be ahead of the clock, because it stepped back or because milliseconds were borrowed. */
export const mostAheadMs = 5_000;

type State = 'right' | 'behind' | 'too far behind';

/** @returns a check of the clock against the earliest timestamp that may be used. @throws ClockSteppedBack */
export function watchClock(log: Logger): (clockMs: number, earliestMs: number) => void {
  let latestMs = 0;
  let state: State = 'right';

  const say = (next: State, behindMs: number) => {
    if (next === state) return;
    state = next;
    if (next === 'right') log.info({ event: 'clock-is-right-again' });
    if (next === 'behind')
      log.warn({ event: 'clock-stepped-back', behindMs, until: 'it has caught up' });
    if (next === 'too far behind')
      log.error({ event: 'clock-stepped-back-too-far', behindMs, mostAheadMs });
  };

  return (clockMs, earliestMs) => {
    const aheadMs = earliestMs - clockMs;
    if (aheadMs > mostAheadMs) {
      say('too far behind', aheadMs);
      throw new ClockSteppedBack(aheadMs, mostAheadMs);
    }
    say(clockMs < latestMs ? 'behind' : 'right', latestMs - clockMs);
    if (clockMs > latestMs) latestMs = clockMs;
  };
}
