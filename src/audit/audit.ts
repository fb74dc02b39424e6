/** All checks over the facts of one voucher, and the verdict: the worst of them. Pure. */
import type { CheckName, Verdict } from '../domain.ts';
import { acceptedOrdersExist } from './checks/accepted-orders-exist.ts';
import { clientsWereToldTheTruth } from './checks/clients-were-told-the-truth.ts';
import { noOrderUnasked } from './checks/no-order-unasked.ts';
import { noOversell } from './checks/no-oversell.ts';
import { oneOrderPerUser } from './checks/one-order-per-user.ts';
import { orderIdsUnique } from './checks/order-ids-unique.ts';
import { redisAgrees } from './checks/redis-agrees.ts';
import { sectionsNeverOverlap } from './checks/sections-never-overlap.ts';
import type { Facts } from './facts.ts';
import { type Check, type Finding, find } from './finding.ts';

const checks: Record<CheckName, Check> = {
  'no-oversell': noOversell,
  'one-order-per-user': oneOrderPerUser,
  'accepted-orders-exist': acceptedOrdersExist,
  'no-order-unasked': noOrderUnasked,
  'redis-agrees': redisAgrees,
  'order-ids-unique': orderIdsUnique,
  'clients-were-told-the-truth': clientsWereToldTheTruth,
  'sections-never-overlap': sectionsNeverOverlap,
};

const needsAttempts: readonly CheckName[] = [
  'accepted-orders-exist',
  'no-order-unasked',
  'clients-were-told-the-truth',
];

export interface LeftOut {
  readonly check: CheckName;
  readonly why: string;
}

export interface Audit {
  readonly verdict: Verdict;
  readonly findings: readonly Finding[];
  readonly leftOut: readonly LeftOut[];
}

export function audit(facts: Facts): Audit {
  const findings: Finding[] = [];
  const leftOut: LeftOut[] = [];
  for (const [check, run] of Object.entries(checks) as [CheckName, Check][]) {
    const why = whyNot(check, facts);
    if (why === null) findings.push(find(check, run, facts));
    else leftOut.push({ check, why });
  }
  return { verdict: worstOf(findings.map(({ verdict }) => verdict)), findings, leftOut };
}

function whyNot(check: CheckName, facts: Facts): string | null {
  if (check === 'one-order-per-user' && !facts.onePerUser) return 'this rung does not promise it';
  if (check === 'sections-never-overlap' && !facts.locked) return 'this rung has no lock to keep others out';
  if (check === 'sections-never-overlap' && !facts.history) return 'no history was kept';
  if (check === 'redis-agrees' && !facts.redis) return 'this rung keeps no stock in Redis';
  if (needsAttempts.includes(check) && !facts.attempts) return 'what clients were told was not kept';
  return null;
}

export function worstOf(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes('violated')) return 'violated';
  return verdicts.includes('unknown') ? 'unknown' : 'held';
}
