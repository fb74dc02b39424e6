/** The audit of sales that were broken by hand. Pure. */
import { worstOf } from '../../audit/audit.ts';
import { confirmed, type Facts } from '../../audit/facts.ts';
import type { CheckName } from '../../domain.ts';
import { type RungName, rungNamed } from '../../ladder/rungs.ts';
import {
  type Audited,
  type AuditedFinding,
  auditAll,
  factsNotHeld,
  findingsOf,
  findingText,
} from '../drills/audited.ts';
import { answeredAt, isSale, longestGapBetweenMs } from '../drills/try-times.ts';
import type { Answered } from '../stage/events.ts';
import type { Judged, Table } from '../stage/result.ts';
import { percentiles } from '../workload/percentiles.ts';
import type { AnsweredSale } from './break-loads.ts';

interface AuditedSale extends AnsweredSale {
  readonly audited: Audited;
}

interface Found extends AuditedFinding {
  readonly isClaimed: boolean;
  readonly text: string;
}

/**
 * Somebody may have broken what a rung says breaks it: that is as claimed.
 * @param faults the names of those that were injected
 */
export function judgeSales(
  answered: readonly AnsweredSale[],
  facts: readonly Facts[],
  faults: readonly string[],
): Judged {
  const audits = auditAll(facts);
  const sales = answered.flatMap((sale, index) => {
    const audited = audits[index];
    return audited ? [{ ...sale, audited }] : [];
  });
  const isForgotten = faults.some((name) => forgets.test(name));
  const found = sales.flatMap((sale) => foundIn(sale, sales.length > 1, isForgotten));
  const violated = found.filter(({ finding }) => finding.verdict === 'violated');
  const unknown = found.filter(({ finding }) => finding.verdict === 'unknown');
  const countOf = (check: CheckName) =>
    violated
      .filter(({ finding }) => finding.check === check)
      .reduce((sum, { finding }) => sum + finding.count, 0);
  const surprises = violated.filter(({ isClaimed }) => !isClaimed);
  return {
    verdict: worstOf(audits.map(({ audit }) => audit.verdict)),
    isAsClaimed: surprises.length === 0,
    reasons: [...surprises, ...unknown].map(({ text }) => text),
    asClaimed: violated.filter(({ isClaimed }) => isClaimed).map(({ text }) => text),
    figures: {
      attempts: sales.reduce((sum, { answers }) => sum + answers.length, 0),
      recorded: facts.reduce((sum, each) => sum + confirmed(each).length, 0),
      lost: countOf('no-lost-orders'),
      secondOrders: countOf('one-order-per-user'),
      violations: violated.reduce((sum, { finding }) => sum + finding.count, 0),
    },
    ...(sales.length > 1 && { tables: [besideTable(sales)] }),
    facts: factsNotHeld(audits),
  };
}

/** redis-main loses what it acknowledged: the promise of every order that waits in it. */
const forgets = /^(flush redis-main|restart redis-main empty|promote the replica of redis-main)$/;
const forgotten = ['no-lost-orders', 'responses-match-database', 'redis-matches-mysql'] as const;

/** @param isNamed the rung stands before each sentence */
function foundIn({ rung, audited }: AuditedSale, isNamed: boolean, isForgotten: boolean): Found[] {
  const isInRedis = rungNamed(rung).queueServer === 'redis-main';
  const claimed = [...checksThatBreak(rung), ...(isForgotten && isInRedis ? forgotten : [])];
  return findingsOf(audited).map((each) => ({
    ...each,
    isClaimed: claimed.some((check) => check === each.finding.check),
    text: isNamed ? `${rung}: ${findingText(each)}` : findingText(each),
  }));
}

/** A buyer who comes back is answered with the order that was lost: no answer can be right then. */
function checksThatBreak(rung: RungName): readonly CheckName[] {
  const checks = rungNamed(rung).breaks.map(({ check }) => check);
  return checks.includes('no-lost-orders') ? [...checks, 'responses-match-database'] : checks;
}

function besideTable(sales: readonly AuditedSale[]): Table {
  return {
    title: 'The same purchases on both rungs (gap: the longest time without a sale)',
    head: ['rung', 'accepted', 'refused', 'unknown', 'p99 ms', 'gap ms', 'recorded', 'verdict'],
    rows: sales.map(({ rung, answers, audited: { facts, audit } }) => {
      const count = (wanted: Answered['outcome']) =>
        answers.filter(({ outcome }) => outcome === wanted).length;
      const { p99 } = percentiles(answers.flatMap(({ latencyMs = [] }) => latencyMs));
      const counts = [count('accepted'), count('refused'), count('unknown')];
      const figures = [...counts, p99, withoutSaleMs(answers), confirmed(facts).length];
      return [rung, ...figures.map(String), audit.verdict];
    }),
  };
}

/** The longest, from the first answer to the last. */
function withoutSaleMs(answers: readonly Answered[]): number {
  const [first = 0n] = answers.map(answeredAt);
  const last = answers.map(answeredAt).at(-1) ?? first;
  return longestGapBetweenMs(answers.filter(isSale).map(answeredAt), first, last);
}
