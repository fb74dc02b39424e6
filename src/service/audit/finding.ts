/**
 * The result of a check: a verdict, the number of violations, and the first and the worst with
 * their evidence.
 */
import type { CheckName, Verdict } from '../domain.ts';
import type { Check } from './check.ts';
import type { Facts } from './facts.ts';
import { type Evidence, inEnglish } from './sentences.ts';

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
  const unknown = (first: Evidence): Finding => ({
    check: check.name,
    verdict: 'unknown',
    count: 0,
    first,
  });
  let cases: ReturnType<Check['cases']>;
  try {
    cases = check.cases(facts);
  } catch (error) {
    return unknown(['check-failed', String(error)]);
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
