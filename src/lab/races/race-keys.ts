/** The messages between the player and the service, through Redis. */
import type { CheckpointName } from '../../trace/checkpoints.ts';

export interface Arrival {
  readonly lane: string;
  readonly checkpoint: CheckpointName;
  readonly instance: string;
  readonly pid: number;
  /** Nanoseconds of the machine's monotonic clock. */
  readonly at: string;
}

/** Longer than a request is paused: a race leaves nothing in Redis. */
export const keptSeconds = 120;

/** The lane of the process that consumes the queue. */
export const workerLane = 'W';

export const raceKeys = {
  /** STRING: the orders of this race stop the process that consumes them. */
  armed: (race: string) => `race:${race}:armed`,
  /** LIST of arrivals, in order. */
  arrivals: (race: string) => `race:${race}:arrivals`,
  /** LIST: one element resumes the lane once. */
  resume: (race: string, lane: string) => `race:${race}:resume:${lane}`,
} as const;
