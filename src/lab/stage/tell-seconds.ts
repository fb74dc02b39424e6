/** Tells each second of an experiment when it is over, as a reader shows it. */
import type { Emit } from './events.ts';
import type { Timeline } from './timeline.ts';

/** A load in another process reports its answers a little later. */
const reportedWithinMs = 500;
const lookEveryMs = 100;

/** @returns the function that tells the rest, and ends */
export function tellSeconds(timeline: Timeline, emit: Emit): () => void {
  let next = 0;
  const tellUntil = (ms: number): void => {
    const beganAt = String(timeline.beganAt);
    for (; (next + 1) * 1_000 <= ms; next++)
      emit({ kind: 'second', beganAt, ...timeline.second(next) });
  };
  const timer = setInterval(() => tellUntil(timeline.elapsedMs() - reportedWithinMs), lookEveryMs);
  return () => {
    clearInterval(timer);
    tellUntil(timeline.recorded().seconds.length * 1_000);
  };
}
