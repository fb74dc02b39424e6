/** What the player and the service say to each other through Redis. */
import type { CheckpointName } from '../checkpoints.ts';

export interface Arrival {
  readonly lane: string;
  readonly checkpoint: CheckpointName;
  readonly instance: string;
  readonly pid: number;
  /** Nanoseconds of the machine's monotonic clock. */
  readonly at: string;
}

export const raceKeys = {
  /** LIST of arrivals, in order. */
  arrivals: (race: string) => `race:${race}:arrivals`,
  /** LIST: an element lets the lane go on once. */
  goOn: (race: string, lane: string) => `race:${race}:go-on:${lane}`,
} as const;
