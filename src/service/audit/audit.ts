/** All checks over the facts of one voucher, the verdict, and the proof of a violation. Pure. */
import type { CheckName, Verdict } from '../domain.ts';
import type { HistoryEvent } from '../trace/history.ts';
import { type Check, type Finding, findingInEnglish, judge } from './check.ts';
import { mutualExclusion } from './checks/mutual-exclusion.ts';
import { noLostOrders } from './checks/no-lost-orders.ts';
import { noOversell } from './checks/no-oversell.ts';
import { noPhantomOrders } from './checks/no-phantom-orders.ts';
import { oneOrderPerUser } from './checks/one-order-per-user.ts';
import { orderIdsUnique } from './checks/order-ids-unique.ts';
import { progress } from './checks/progress.ts';
import { redisMatchesMysql } from './checks/redis-matches-mysql.ts';
import { responsesMatchDatabase } from './checks/responses-match-database.ts';
import type { Facts, OrderRow } from './facts.ts';
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

/**
 * The smallest set of events and rows that proves a violation: the two purchases that should not
 * both have happened.
 */
export interface Proof {
  readonly check: CheckName;
  readonly events: readonly HistoryEvent[];
  /** The rows of these orders in MySQL. */
  readonly rows: readonly OrderRow[];
}

export function proofOf({ check, orders = [] }: Finding, { history = [], mysql }: Facts): Proof {
  const kinds = checks.find(({ name }) => name === check)?.evidence ?? [];
  const proves = ({ event, checkpoint }: HistoryEvent) =>
    kinds.includes(event === 'checkpoint' && checkpoint ? checkpoint : event);
  const events = history.filter((event) => orders.includes(event.orderId) && proves(event));
  return { check, events, rows: mysql.orders.filter(({ id }) => orders.includes(id)) };
}

/** One for each violation. */
export const proofsOf = ({ findings }: Audit, facts: Facts): Proof[] =>
  findings
    .filter(({ verdict }) => verdict === 'violated')
    .map((finding) => proofOf(finding, facts));
