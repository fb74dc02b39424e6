/** All checks over the facts of one voucher, and the verdict: the worst of them. Pure. */
import type { CheckName, Verdict } from '../domain.ts';
import type { Check } from './check.ts';
import { mutualExclusion } from './checks/mutual-exclusion.ts';
import { noLostOrders } from './checks/no-lost-orders.ts';
import { noOversell } from './checks/no-oversell.ts';
import { noPhantomOrders } from './checks/no-phantom-orders.ts';
import { oneOrderPerUser } from './checks/one-order-per-user.ts';
import { orderIdsUnique } from './checks/order-ids-unique.ts';
import { progress } from './checks/progress.ts';
import { redisMatchesMysql } from './checks/redis-matches-mysql.ts';
import { responsesMatchDatabase } from './checks/responses-match-database.ts';
import type { Facts } from './facts.ts';
import { type Finding, findingInEnglish, judge } from './finding.ts';
import { type Evidence, inEnglish } from './sentences.ts';

export const checks: readonly Check[] = [
  noOversell,
  oneOrderPerUser,
  noLostOrders,
  noPhantomOrders,
  redisMatchesMysql,
  orderIdsUnique,
  responsesMatchDatabase,
  mutualExclusion,
  progress,
];

export interface SkippedCheck {
  readonly check: CheckName;
  readonly why: Evidence;
}

export interface Audit {
  readonly verdict: Verdict;
  readonly findings: readonly Finding[];
  readonly skipped: readonly SkippedCheck[];
}

/** Where nothing was tried, `held` proves nothing. What was found stays found. */
export const unknownUnlessTried = (isTried: boolean, audited: Audit): Audit =>
  audited.verdict === 'held' && !isTried ? { ...audited, verdict: 'unknown' } : audited;

export function audit(facts: Facts): Audit {
  const findings: Finding[] = [];
  const skipped: SkippedCheck[] = [];
  for (const check of checks) {
    const why = check.skip(facts);
    if (why === null) findings.push(judge(check, facts));
    else skipped.push({ check: check.name, why });
  }
  return { verdict: worstOf(findings.map(({ verdict }) => verdict)), findings, skipped };
}

export function worstOf(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes('violated')) return 'violated';
  return verdicts.includes('unknown') ? 'unknown' : 'held';
}

/** For files and for answers of the service, which are in English. */
export const auditInEnglish = ({ findings, skipped }: Pick<Audit, 'findings' | 'skipped'>) => ({
  findings: findings.map(findingInEnglish),
  skipped: skipped.map(({ check, why }) => ({ check, why: inEnglish(why) })),
});
