/** Tells a timeline what happens, as a stage does. */
import type { Answered, Emitted } from '../../src/lab/stage/events.ts';
import type { Timeline } from '../../src/lab/stage/timeline.ts';

/** @param now nanoseconds */
export function recorderOf(timeline: Timeline, now: () => bigint) {
  let number = 0;
  const tell = (event: Emitted, at = String(now())): void => {
    number += 1;
    timeline.read({ ...event, number, at });
  };
  return {
    loadStarted: (name: string) => tell({ kind: 'load-started', name }),
    loadEnded: (name: string) => tell({ kind: 'load-ended', name }),
    faultStarted: (name: string) => tell({ kind: 'fault', id: 1, name }),
    faultEnded: (name: string) => tell({ kind: 'healed', id: 1, name }),
    attempt: (attempt: Answered) => tell({ kind: 'purchase', attempt }, attempt.answeredAt),
  };
}
