/** What a page is told of the room. */
import type { Outcome, OutcomeSeen } from '../lab/play/outcomes.ts';

/** Of all learners, on one rung. */
export interface RungTally {
  readonly rung: string;
  /** The first prediction of each. */
  readonly predicted: Readonly<Partial<Record<Outcome, number>>>;
  /** Plays that nobody could go on with. */
  readonly seen: Readonly<Partial<Record<OutcomeSeen, number>>>;
  /** How many of them broke a promise. */
  readonly broken: number;
}

export interface RoomNow {
  /** The rung that the instructor shows; empty before he does. */
  readonly at: string;
  /** Those who have joined, and those who look at the page now. */
  readonly joined: number;
  readonly here: number;
  readonly most: number;
  /** What the instructor alone is told. */
  readonly host?: string;
  readonly code?: string;
  readonly tallies?: readonly RungTally[];
}
