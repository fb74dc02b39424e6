/**
 * What makes a drill red. An expectation says what is wrong with what was seen; a drill names those
 * of an outage in its row, and has its own for what only it has seen. Pure.
 */

import { worstOf } from '../../service/audit/audit.ts';
import type { Facts } from '../../service/audit/facts.ts';
import type { Verdict } from '../../service/domain.ts';
import { evidenceTexts } from '../../texts/evidence.ts';
import type { Bilingual } from '../../texts/texts.ts';
import { type Judged, ofName, type Text } from '../stage/result.ts';
import type { Try } from '../workload/steady-purchases.ts';
import {
  type AuditedFinding,
  auditAll,
  findingsOf,
  findingText,
  keptOf,
  type SaleAudit,
  unrecordedOrders,
  voucherName,
} from './audited.ts';
import {
  answeredAt,
  inOrder,
  isSale,
  longestGapBetweenMs,
  msBetween,
  sentAt,
  sentBetween,
} from './try-times.ts';

/** What is wrong; null where it is as expected. */
export type Found = Bilingual | null;

export const unless = (isRight: boolean, wrong: Bilingual): Found => (isRight ? null : wrong);

export const when = (isWrong: boolean, wrong: Bilingual): Found => (isWrong ? wrong : null);

/** `3 orders were lost` */
export const noneOf = (count: number, { en, zh }: Bilingual): Found =>
  when(count > 0, { en: `${count} ${en}`, zh: `${zh}：${count}` });

/** `redlock: nobody bought`, where several were seen. */
export const allOfName = (name: Text, found: readonly Found[]): Bilingual[] =>
  found.filter((text) => text !== null).map((text) => ofName(name, text));

export const nobodyBought = evidenceTexts(['nobody-bought']);

export const thereWasNo = (fault: string): Bilingual => ({
  en: `there was no ${fault}`,
  zh: `没有注入 ${fault}`,
});

export interface Reasons {
  /** Each makes the verdict `violated`. */
  readonly broken: readonly Found[];
  /** What the audits found. */
  readonly audited?: readonly Bilingual[];
  /** Each makes the verdict `unknown`, unless it is `violated`. */
  readonly missing: readonly Found[];
}

/** The worst of the audits' verdicts, of `broken` and of `missing`. */
export function drillVerdict(
  verdicts: readonly Verdict[],
  { broken, audited = [], missing }: Reasons,
): Pick<Judged, 'verdict' | 'reasons'> {
  const wrong = broken.filter((text) => text !== null);
  const open = missing.filter((text) => text !== null);
  const all = [...verdicts];
  if (wrong.length > 0) all.push('violated');
  if (open.length > 0) all.push('unknown');
  return { verdict: worstOf(all), reasons: [...wrong, ...audited, ...open] };
}

/** All of a drill but its figures. @param findings those that count */
export const judgeAudits = (
  audits: readonly SaleAudit[],
  { broken, missing }: Pick<Reasons, 'broken' | 'missing'>,
  findings: readonly AuditedFinding[] = audits.flatMap(findingsOf),
): Pick<Judged, 'verdict' | 'reasons' | 'lost' | 'facts'> => ({
  ...drillVerdict(
    findings.map(({ finding }) => finding.verdict),
    {
      broken,
      audited: findings.filter(({ finding }) => finding.verdict !== 'held').map(findingText),
      missing,
    },
  ),
  ...keptOf(audits),
});

/** An answer of /readyz of an instance; no answer counts as not ready. */
export interface Look {
  readonly at: bigint;
  readonly isReady: boolean;
  readonly body: string;
}

/** What was seen of one outage. The moments are nanoseconds of the clock of the tries. */
export interface Timeline {
  readonly calmFrom: bigint;
  readonly brokenAt: bigint;
  /** From `downFrom` to `downUntil` all that breaks was broken. */
  readonly downFrom: bigint;
  readonly downUntil: bigint;
  /** From here on the service can sell and record again. */
  readonly mendedAt: bigint;
  /** The most orders that were queued at one moment until then. */
  readonly waitingMost: number;
  /** When MySQL had every order of the outage; null when it did not get them in time. */
  readonly recordedAt: bigint | null;
  /** When MySQL had one that was sent after it; null when it got none in time. */
  readonly nextRecordedAt: bigint | null;
  readonly until: bigint;
  readonly tries: readonly Try[];
  /** Since `brokenAt`. */
  readonly looks: readonly Look[];
  /** Of the processes of the service that ended meanwhile; null for a signal. */
  readonly exitCodes: readonly (number | null)[];
  /** Locks that nobody holds, some time afterwards; null where nobody looked, or not in Redis. */
  readonly leftLocks: number | null;
  /** Accepted orders, at least, that nobody but the server that broke can have had. */
  readonly atRisk?: number;
}

export type Expectation = (seen: Timeline, facts: Facts) => Found;

/** What a row says of an outage. */
export interface ExpectedOutage {
  /** For people. */
  readonly name: Text;
  /** Its name beside that of the rung. */
  readonly phase?: Text;
  readonly expects: readonly Expectation[];
  /** Without these the outage has shown nothing, and the verdict is `unknown`. */
  readonly needs?: readonly Expectation[];
  /** Orders that were accepted before its end may be lost: nobody waits until they are recorded. */
  readonly loses?: true;
}
export type SeenOutage<Row extends ExpectedOutage = ExpectedOutage> = Timeline & {
  readonly row: Row;
};

/** All outages of one load, in their order. */
export interface PlayedOutages<Row extends ExpectedOutage = ExpectedOutage> {
  readonly seen: readonly SeenOutage<Row>[];
  /** One sentence, when an outage did not come to its end; those after it were not played. */
  readonly unfinished: readonly Bilingual[];
  readonly facts: Facts;
}

/** The moments of an outage, or of a race in a drill, and its tries. */
export type OutageTimes = Pick<
  Timeline,
  'calmFrom' | 'brokenAt' | 'downFrom' | 'downUntil' | 'mendedAt' | 'until' | 'tries'
>;

export interface PhasedOutage extends OutageTimes {
  readonly row: Pick<ExpectedOutage, 'name' | 'phase'>;
}

/** Sent and answered while all that breaks was broken. */
export const meanwhile = ({ tries, downFrom, downUntil }: Timeline): Try[] =>
  sentBetween(tries, downFrom, downUntil).filter((each) => answeredAt(each) < downUntil);
export const countSales = (tries: readonly Pick<Try, 'outcome'>[]): number =>
  tries.filter(isSale).length;

export const notReady = ({ looks }: Timeline): number =>
  looks.filter(({ isReady }) => !isReady).length;

export const looksThatSay = ({ looks }: Timeline, sign: string): number =>
  looks.filter(({ body }) => body.includes(sign)).length;

/**
 * By the times at which they were sent: a sale that was under way may be answered late, after its
 * release was sent to a stopped server. Also from the last sale to the end.
 */
export function withoutSalesMs({ tries, calmFrom, until }: OutageTimes): number {
  const sales = sentBetween(tries, calmFrom, until).filter(isSale);
  return longestGapBetweenMs(sales.map(sentAt), calmFrom, until);
}

/** From the mending to the first sale that was sent after it; null without one. */
export function resumedAfterMs({ tries, mendedAt, until }: OutageTimes): number | null {
  const sales = sentBetween(tries, mendedAt, until).filter(isSale).map(answeredAt);
  const [first = null] = inOrder(sales.filter((at) => at < until));
  return afterMs(mendedAt, first);
}

const afterMs = (since: bigint, at: bigint | null): number | null =>
  at === null ? null : msBetween(since, at);

function late({ en, zh }: Bilingual, ms: number | null, limitMs: number): Found {
  if (ms === null) return { en: `never ${en}`, zh: `一直没有${zh}` };
  return unless(ms <= limitMs, {
    en: `${en} after ${ms} ms, the limit is ${limitMs} ms`,
    zh: `${ms} ms 后才${zh}，上限 ${limitMs} ms`,
  });
}

const codesText = (codes: readonly (number | null)[]): Bilingual => ({
  en: codes.map((code) => code ?? 'a signal').join(', ') || 'none',
  zh: codes.map((code) => code ?? '信号').join('，') || '无',
});

/** Of one outage. */
export const expected = {
  boughtBefore: ({ tries, calmFrom, brokenAt }: Timeline) =>
    unless(countSales(sentBetween(tries, calmFrom, brokenAt)) > 0, {
      en: 'nobody bought before',
      zh: '之前没有人买到',
    }),
  sellsOn: (seen: Timeline) => {
    const [asked, sold] = [meanwhile(seen).length, countSales(meanwhile(seen))];
    return unless(sold * 2 >= asked, {
      en: `sold ${sold} in ${asked} attempts meanwhile`,
      zh: `期间 ${asked} 次请求只卖出 ${sold} 张`,
    });
  },
  sellsNothing: (seen: Timeline) => {
    const sold = countSales(meanwhile(seen));
    return unless(sold === 0, {
      en: `sold ${sold}, and should sell nothing`,
      zh: `不该成交，却卖出 ${sold} 张`,
    });
  },
  triedMeanwhile: (seen: Timeline) =>
    unless(meanwhile(seen).length > 0, { en: 'nobody tried meanwhile', zh: '期间没有人下单' }),
  soldAgainWithin: (limitMs: number) => (seen: Timeline) =>
    late({ en: 'sold again', zh: '恢复成交' }, resumedAfterMs(seen), limitMs),
  noLocksLeft: ({ leftLocks }: Timeline) =>
    when((leftLocks ?? 0) > 0, {
      en: `locks left that nobody holds: ${leftLocks}`,
      zh: `残留的、没有人持有的锁：${leftLocks}`,
    }),
  /** From the calm before it to the calm after it. */
  withoutSalesFor: (limitMs: number) => (seen: Timeline) => {
    const ms = withoutSalesMs(seen);
    return unless(ms <= limitMs, {
      en: `no sale for ${ms} ms, the limit is ${limitMs} ms`,
      zh: `${ms} ms 没有成交，上限 ${limitMs} ms`,
    });
  },
  refusesAs: (reason: string, otherwise: Bilingual) => (seen: Timeline) =>
    unless(
      meanwhile(seen).some((each) => each.reason === reason),
      otherwise,
    ),
  ordersWait: (seen: Timeline) => {
    const { waitingMost: most } = seen;
    const sold = countSales(meanwhile(seen));
    return unless(most * 2 >= sold, {
      en: `${sold} were sold, and at most ${most} orders waited`,
      zh: `卖出 ${sold} 张，排队的订单最多 ${most} 个`,
    });
  },
  recordedWithin: (limitMs: number) => (seen: Timeline) =>
    late({ en: 'recorded', zh: '全部入库' }, afterMs(seen.mendedAt, seen.recordedAt), limitMs),
  /** The first order that was sent after the outage. */
  recordsAgainWithin: (limitMs: number) => (seen: Timeline) =>
    late(
      { en: 'recorded again', zh: '恢复入库' },
      afterMs(seen.mendedAt, seen.nextRecordedAt),
      limitMs,
    ),
  readyzSays: (sign: string) => (seen: Timeline) =>
    unless(looksThatSay(seen, sign) > 0, {
      en: `/readyz never said so: ${sign}`,
      zh: `/readyz 一直没有说明：${sign}`,
    }),
  turnsUnready: (seen: Timeline) =>
    unless(notReady(seen) > 0, { en: '/readyz stayed ready', zh: '/readyz 一直是就绪' }),
  /** A slow machine may miss the time limit of an answer now and then. */
  staysReady: (seen: Timeline) =>
    unless(notReady(seen) * 2 <= seen.looks.length, {
      en: '/readyz was not ready',
      zh: '/readyz 不是就绪',
    }),
  readyAtItsEnd: ({ looks }: Timeline) =>
    unless(looks.at(-1)?.isReady !== false, {
      en: 'not ready at its end',
      zh: '结束时没有就绪',
    }),
  /** Of processes that must end, and no other may. */
  exitCodes:
    (...codes: readonly number[]) =>
    ({ exitCodes }: Timeline) => {
      const { en, zh } = codesText(exitCodes);
      return unless(en === codesText(codes).en, {
        en: `exit codes of ended processes: ${en}`,
        zh: `退出的进程的退出码：${zh}`,
      });
    },
} as const;

export const wrongIn = (
  seen: SeenOutage,
  wanted: readonly Expectation[],
  facts: Facts,
): Bilingual[] =>
  allOfName(
    seen.row.name,
    wanted.map((expectation) => expectation(seen, facts)),
  );

interface JudgedBy<Row extends ExpectedOutage> {
  /** Of the facts of the loads, for a caller that has made them. */
  readonly audits?: readonly SaleAudit[];
  /** The findings of an audit that count. */
  readonly judged?: (audited: SaleAudit, load: PlayedOutages<Row>) => readonly AuditedFinding[];
  /** What else is wrong. */
  readonly broken?: readonly Found[];
}

/**
 * Violated by an expectation of a row that failed, an accepted order that is not recorded, or a
 * finding that counts; `unknown` where a need of a row failed, or an outage had no end.
 */
export function judgeOutages<Row extends ExpectedOutage>(
  loads: readonly PlayedOutages<Row>[],
  {
    audits = auditAll(loads.map(({ facts }) => facts)),
    judged = findingsOf,
    broken = [],
  }: JudgedBy<Row> = {},
): ReturnType<typeof judgeAudits> {
  const each = (wanted: (row: ExpectedOutage) => readonly Expectation[]) =>
    loads.flatMap(({ seen, facts }) => seen.flatMap((one) => wrongIn(one, wanted(one.row), facts)));
  return judgeAudits(
    audits,
    {
      broken: [
        ...each(({ expects }) => [...expects, expected.readyAtItsEnd]),
        ...loads.filter(keepsAll).flatMap(({ facts }) => wrongOrders(facts)),
        ...broken,
      ],
      missing: [
        ...each(({ needs = [] }) => [expected.boughtBefore, ...needs]),
        ...loads.flatMap(({ unfinished }) => unfinished),
      ],
    },
    loads.flatMap((load, index) =>
      audits.slice(index, index + 1).flatMap((own) => judged(own, load)),
    ),
  );
}

const keepsAll = ({ seen }: PlayedOutages): boolean => !seen.some(({ row }) => row.loses);

export const deadLettered = ({ mysql }: Facts): number =>
  mysql.orders.filter(({ status }) => status === 'failed').length;

/** Every store answers by then, so an order that is still queued is passed over by the workers. */
const wrongOrders = (facts: Facts): Bilingual[] =>
  allOfName(voucherName(facts), [
    noneOf(unrecordedOrders(facts).length, {
      en: 'accepted orders are not recorded',
      zh: '没有入库的已受理订单',
    }),
    noneOf(deadLettered(facts), { en: 'orders were dead-lettered', zh: '成了死信的订单' }),
  ]);
