/** The audit of sales that were broken by hand. Pure. */
import { worstOf } from '../../service/audit/audit.ts';
import { confirmed, type Facts } from '../../service/audit/facts.ts';
import type { CheckName, Verdict } from '../../service/domain.ts';
import { type RungName, rungNamed } from '../../service/ladder/rungs.ts';
import {
  type Audited,
  type AuditedFinding,
  auditAll,
  findingsOf,
  findingText,
  keptOf,
} from '../drills/audited.ts';
import { answeredAt, isSale, longestGapBetweenMs } from '../drills/try-times.ts';
import type { Answered } from '../stage/events.ts';
import type { Bilingual, Judged, Table } from '../stage/result.ts';
import { percentiles } from '../workload/percentiles.ts';
import type { AnsweredSale } from './break-loads.ts';

interface AuditedSale extends AnsweredSale {
  readonly audited: Audited;
}

interface Found extends AuditedFinding {
  readonly rung: RungName;
  readonly isClaimed: boolean;
  readonly text: string;
}

/**
 * Somebody may have broken what a rung says breaks it: that is as claimed.
 * @param faults the names of those that were injected
 * @param unmended and of those that nobody mended
 */
export function judgeSales(
  answered: readonly AnsweredSale[],
  facts: readonly Facts[],
  faults: readonly string[],
  unmended: readonly string[] = [],
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
    conclusions: [...sales.map((sale) => conclusionOf(sale, found)), ...leftBroken(unmended)],
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
    ...keptOf(audits),
  };
}

const leftBroken = (faults: readonly string[]): Bilingual[] => {
  if (faults.length === 0) return [];
  const names = faults.join(', ');
  return [
    {
      en: `Nobody had mended ${names} at the end of the load: that was done then, before the audit.`,
      zh: `压测结束时还没有人修复 ${names}：那时才修好，然后审计。`,
    },
  ];
};

/** Sold to buyers whose answer was lost; none where nobody knows the answers. */
function untoldOrders(facts: Facts): number {
  if (!facts.attempts) return 0;
  const accepted = facts.attempts.filter(({ outcome }) => outcome === 'accepted');
  const told = new Set(accepted.map(({ orderId }) => orderId));
  return confirmed(facts).filter(({ id }) => !told.has(id)).length;
}

const digits = (count: number): string => count.toLocaleString('en-US');

/** What became of its promises, and of its orders. */
function conclusionOf(
  { rung, audited: { facts } }: AuditedSale,
  found: readonly Found[],
): Bilingual {
  const named = (wanted: Verdict) =>
    found
      .filter((each) => each.rung === rung && each.finding.verdict === wanted)
      .map(({ finding }) => finding.check);
  const [broken, unknown] = [named('violated'), named('unknown')];
  const orders = digits(confirmed(facts).length);
  const untold = untoldOrders(facts);
  const en = [
    ...(broken.length > 0 ? [`broke ${broken.join(', ')}`] : []),
    ...(unknown.length > 0 ? [`could not tell about ${unknown.join(', ')}`] : []),
  ];
  const zh = [
    ...(broken.length > 0 ? [`违反了 ${broken.join('、')}`] : []),
    ...(unknown.length > 0 ? [`无法判断 ${unknown.join('、')}`] : []),
  ];
  return {
    en: `${rung}: ${en.join('; ') || 'every promise held'}; MySQL has ${orders} orders${untold === 0 ? '' : `, ${digits(untold)} of them without an accepted answer`}.`,
    zh: `${rung}：${zh.join('；') || '每个承诺都守住了'}；MySQL 里有 ${orders} 个订单${untold === 0 ? '' : `，其中 ${digits(untold)} 个没有得到“已受理”的响应`}。`,
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
    ...{ ...each, rung },
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
    title: 'The same purchases on both rungs',
    legend: {
      'gap ms': { en: 'the longest time without a sale', zh: '最长多久没有成交' },
      recorded: { en: 'orders in MySQL', zh: 'MySQL 里的订单' },
    },
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
