/** What the facts of a trial say about the final rung, or about a mutant of it. Pure. */
import { audit } from '../../service/audit/audit.ts';
import type { Facts } from '../../service/audit/facts.ts';
import { evidenceOf } from '../../service/audit/finding.ts';
import type { CheckName, Verdict } from '../../service/domain.ts';
import type { LabEvidence } from '../../texts/evidence-en.ts';
import type { Trial } from './trial.ts';

/** A check of the audit; or that every accepted order leaves the queue, which the audit awaits. */
export type TrialCheck = CheckName | 'orders-settle';

export interface TrialFinding {
  readonly check: TrialCheck;
  readonly verdict: Verdict;
  /** The case that proves it, or the reason why it is not known; empty when the check held. */
  readonly evidence: readonly LabEvidence[];
}

/** Every check of the audit, but for what the fault breaks on every rung. */
export function judgeTrial(
  facts: Facts,
  isSettled: boolean,
  { breaks = {} }: Pick<Trial, 'breaks'>,
): TrialFinding[] {
  const { findings } = audit(facts);
  const judged = findings.filter(({ check }) => !Object.hasOwn(breaks, check));
  const queued = facts.redis?.queued.join(', ');
  const settle: TrialFinding = isSettled
    ? { check: 'orders-settle', verdict: 'held', evidence: [] }
    : { check: 'orders-settle', verdict: 'violated', evidence: [['orders-never-settled', queued]] };
  return [
    settle,
    ...judged.map((finding) => ({
      check: finding.check,
      verdict: finding.verdict,
      evidence: evidenceOf(finding),
    })),
  ];
}

/** Of a mutant: its check saw it, or did not; `unknown` when nothing is proven. */
export type Fate = 'red' | 'survived' | 'unknown';

/** The first finding that did not hold, a violated one before an unknown one. */
export const firstNotHeld = (findings: readonly TrialFinding[]): TrialFinding | undefined =>
  findings.find(({ verdict }) => verdict === 'violated') ??
  findings.find(({ verdict }) => verdict === 'unknown');

export const violatedChecks = (findings: readonly TrialFinding[]): TrialCheck[] =>
  findings.filter(({ verdict }) => verdict === 'violated').map(({ check }) => check);
