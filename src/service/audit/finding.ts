/**
 * The result of a check: a verdict, the number of violations, and the first and the worst with
 * their evidence.
 */
import type { CheckName, Verdict } from '../domain.ts';
import type { Check } from './check.ts';
import type { Facts } from './facts.ts';

export interface Finding {
  readonly check: CheckName;
  readonly verdict: Verdict;
  /** The number of violations. */
  readonly count: number;
  readonly first?: string;
  readonly worst?: string;
  /** The orders that prove the worst. */
  readonly orders?: readonly string[];
}

/** A check that throws, or whose facts are not complete, is `unknown` and never a pass. */
export function judge(check: Check, facts: Facts): Finding {
  const unknown = (first: string): Finding => ({
    check: check.name,
    verdict: 'unknown',
    count: 0,
    first,
  });
  let cases: ReturnType<Check['cases']>;
  try {
    cases = check.cases(facts);
  } catch (error) {
    return unknown(`the check itself failed: ${error}`);
  }
  if ('undecided' in cases) return unknown(cases.undecided);
  const [first] = cases;
  if (!first) return { check: check.name, verdict: 'held', count: 0 };
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
