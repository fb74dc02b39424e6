/** What a check says: a verdict, how many cases, and the first and the worst of them with their evidence. */
import type { CheckName, Verdict } from '../domain.ts';
import type { Facts } from './facts.ts';

export interface Finding {
  readonly check: CheckName;
  readonly verdict: Verdict;
  /** How many cases violate it. */
  readonly count: number;
  readonly first?: string;
  readonly worst?: string;
  /** The orders that prove the worst. */
  readonly orders?: readonly string[];
}

/** A case that violates a check: a sentence with its evidence, how bad it is beside the others, and whose orders prove it. */
export interface Case {
  readonly evidence: string;
  readonly severity: number;
  readonly orders?: readonly string[];
}

/** Returns every violating case; `'undecided'` when the facts cannot tell yet. */
export type Check = (facts: Facts) => readonly Case[] | 'undecided';

export function find(check: CheckName, run: Check, facts: Facts): Finding {
  let cases: ReturnType<Check>;
  try {
    cases = run(facts);
  } catch (error) {
    return { check, verdict: 'unknown', count: 0, first: `the check itself failed: ${error}` };
  }
  if (cases === 'undecided')
    return { check, verdict: 'unknown', count: 0, first: 'orders are still on their way' };
  const [first] = cases;
  if (!first) return { check, verdict: 'held', count: 0 };
  const worst = cases.reduce((one, other) => (other.severity > one.severity ? other : one));
  const { evidence, orders = [] } = worst;
  return { check, verdict: 'violated', count: cases.length, first: first.evidence, worst: evidence, orders };
}
