/** The sentences of the ladder in one language: complete by type. */
import type { CheckName, RefusalReason, Verdict } from '../service/domain.ts';
import type { Circumstance, Reason, Rung } from '../service/ladder/rung.ts';
import type { RungName } from '../service/ladder/rungs.ts';
import type { StoryName } from '../service/ladder/story.ts';
import type { CheckpointName } from '../service/trace/checkpoints.ts';

export interface RungText {
  /** What the rung does. */
  readonly idea: string;
  /** What a learner should take from it. */
  readonly lesson: string;
}

export interface StoryText {
  readonly title: string;
  /** Why its rush ends as it does. */
  readonly meaning: string;
}

/** Where a lane of a race is after a step, or what has become of the step. */
export type StepPlace =
  | CheckpointName
  | RefusalReason
  | 'sold'
  | 'accepted'
  | 'no-answer'
  | 'answer-lost'
  | 'waits-for-lock'
  | 'waits-for-store'
  | 'killed'
  | 'paused'
  | 'resumed'
  | 'lease-over'
  | 'still-locked'
  | 'time-passes'
  | 'no-lease'
  | 'nothing-to-hit'
  | 'no-effect'
  | 'not-there'
  | 'slow'
  | 'no-lock-there'
  | 'recorded-anyway'
  | 'outlasts-the-lease';

export interface LadderText {
  readonly story: Readonly<Record<StoryName, StoryText>>;
  readonly chapters: Readonly<Record<Rung['chapter'], string>>;
  readonly rungs: Readonly<Record<RungName, RungText>>;
  readonly verdicts: Readonly<Record<Verdict, string>>;
  readonly checks: Readonly<Record<CheckName, string>>;
  readonly circumstances: Readonly<Record<Circumstance, string>>;
  readonly reasons: Readonly<Record<Reason, string>>;
  /** What a lane did, whatever the rung: true wherever it is at that place. */
  readonly steps: Readonly<Record<StepPlace, string>>;
}
