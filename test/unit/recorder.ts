/** Tells readers what happens, as a stage does. */
import type { BuyerAnswer, EventContent, Reader } from '../../src/lab/stage/events.ts';

/** @param now nanoseconds */
export function recorderOf(readers: readonly Reader[], now: () => bigint) {
  let number = 0;
  const tell = (event: EventContent, at = String(now())): void => {
    number += 1;
    for (const read of readers) read({ ...event, number, at });
  };
  return {
    loadStarted: (name: string) => tell({ kind: 'load-started', name }),
    loadEnded: (name: string) => tell({ kind: 'load-ended', name }),
    faultStarted: (name: string) => tell({ kind: 'fault', id: 1, name }),
    faultEnded: (name: string) => tell({ kind: 'healed', id: 1, name }),
    attempt: (attempt: BuyerAnswer, load?: string) =>
      tell({ kind: 'purchase', attempt, ...(load && { load }) }, attempt.answeredAt),
  };
}
