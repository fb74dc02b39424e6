/** A check of the audit: one promise, judged from the facts alone. */
import type { CheckName } from '../domain.ts';
import type { CheckpointName } from '../trace/checkpoints.ts';
import type { HistoryEvent } from '../trace/history.ts';
import type { Facts } from './facts.ts';
import type { Evidence } from './sentences.ts';

/**
 * One violation: its evidence, how bad it is beside the others, and the orders that prove it.
 */
export interface Case {
  readonly evidence: Evidence;
  readonly severity: number;
  readonly orders?: readonly string[];
}

/** Facts that neither prove the promise nor a violation: the verdict is `unknown`. */
export interface UndecidedFinding {
  readonly undecided: Evidence;
}

/** An event of the history, or a checkpoint that was reached. */
export type EventKind = HistoryEvent['event'] | CheckpointName;

export interface Check {
  readonly name: CheckName;
  /** Why these facts cannot be judged by this check; null when they can. */
  skip(facts: Facts): Evidence | null;
  /** Every violation; or why these facts decide nothing. */
  cases(facts: Facts): readonly Case[] | UndecidedFinding;
  /** The kinds of events that prove a violation. */
  readonly evidence: readonly EventKind[];
}

/** Reasons to skip that several checks share. */
export const needsAttempts = ({ attempts }: Facts): Evidence | null =>
  attempts ? null : ['no-answers'];

export const never = (): null => null;

/** The events that say how a purchase ended. */
export const outcomes = ['accepted', 'refused', 'unknown', 'recorded', 'dead-lettered'] as const;
