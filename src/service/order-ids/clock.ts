/**
 * A clock that steps back. After a small step, ids stay on the latest timestamp until the clock has
 * passed it again. After a large step no ids are made, because the clock must be wrong. The start
 * and the end of each step are logged once.
 */

import type { Logger } from 'pino';
import { serviceError } from '../errors.ts';

/** How far ids may be ahead of the clock: it stepped back, or the ids borrowed milliseconds. */
const maxAheadMs = 5_000;

type State = 'right' | 'behind' | 'too far behind';

/**
 * @returns a check of the clock against the earliest timestamp that the next id may have.
 * @throws CLOCK_STEPPED_BACK from that check.
 */
export function watchClock(log: Logger): (clockMs: number, earliestMs: number) => void {
  const report = stateReporter(log);
  let latestMs = 0;
  return (clockMs, earliestMs) => {
    const aheadMs = earliestMs - clockMs;
    if (aheadMs > maxAheadMs) {
      report('too far behind', aheadMs);
      throw serviceError('CLOCK_STEPPED_BACK', aheadMs, maxAheadMs);
    }
    report(clockMs < latestMs ? 'behind' : 'right', latestMs - clockMs);
    latestMs = Math.max(latestMs, clockMs);
  };
}

/** Logs every change of state, once. */
function stateReporter(log: Logger): (next: State, behindMs: number) => void {
  let state: State = 'right';
  return (next, behindMs) => {
    if (next === state) return;
    state = next;
    switch (next) {
      case 'right':
        return log.info({ event: 'clock-is-right-again' });
      case 'behind':
        return log.warn({ event: 'clock-stepped-back', behindMs, until: 'the clock catches up' });
      case 'too far behind':
        return log.error({ event: 'clock-stepped-back-too-far', behindMs, maxAheadMs });
    }
  };
}
