/** A check of the audit: one promise, judged from the facts alone, and what it finds. */
import type { CheckName, Verdict } from '../domain.ts';
import type { CheckpointName } from '../trace/checkpoints.ts';
import type { HistoryEvent } from '../trace/history.ts';
import type { Facts } from './facts.ts';
import { type Evidence, inEnglish } from './sentences.ts';

/**
 * One violation: its evidence, how bad it is beside the others, and the orders that prove it.
 */
export interface Case {
  readonly evidence: Evidence;
  readonly severity: number;
  readonly orders?: readonly string[];
}

/** One that is as bad as any other of its kind. */
export const caseOf = (evidence: Evidence, ...orders: readonly string[]): Case => ({
  evidence,
  severity: 1,
  orders,
});

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

/** The result of a check: the first and the worst violation have their evidence. */
export interface Finding {
  readonly check: CheckName;
  readonly verdict: Verdict;
  /** The number of violations. */
  readonly count: number;
  readonly first?: Evidence;
  readonly worst?: Evidence;
  /** The orders that prove the worst. */
  readonly orders?: readonly string[];
}

/** A check that throws, or whose facts are not complete, is `unknown` and never a pass. */
export function judge(check: Check, facts: Facts): Finding {
  const none = { check: check.name, count: 0 };
  const unknown = (first: Evidence): Finding => ({ ...none, verdict: 'unknown', first });
  let cases: ReturnType<Check['cases']>;
  try {
    cases = check.cases(facts);
  } catch (error) {
    return unknown(['check-failed', String(error)]);
  }
  if ('undecided' in cases) return unknown(cases.undecided);
  const [first] = cases;
  if (!first) return { ...none, verdict: 'held' };
  const worst = cases.reduce((one, other) => (other.severity > one.severity ? other : one));
  return {
    check: check.name,
    verdict: 'violated',
    count: cases.length,
    first: first.evidence,
    worst: worst.evidence,
    orders: worst.orders ?? [],
  };
}

export const findingInEnglish = ({ check, verdict, count, first, worst, orders }: Finding) => ({
  check,
  verdict,
  count,
  ...(first && { first: inEnglish(first) }),
  ...(worst && { worst: inEnglish(worst) }),
  ...(orders && { orders }),
});

/** The worst case, or why it could not tell; nothing when the check held. */
export const evidenceOf = ({ worst, first }: Pick<Finding, 'worst' | 'first'>): Evidence[] => {
  const shown = worst ?? first;
  return shown ? [shown] : [];
};

/** `no-oversell: 2 orders for 1 in stock` */
export const findingLine = (finding: Pick<Finding, 'check' | 'worst' | 'first'>): string =>
  `${finding.check}: ${evidenceOf(finding).map(inEnglish).join('')}`;
