/** Purchases on one rung or two, while servers are broken by hand, or at their times; the audit. */

import { worstOf } from '../../service/audit/audit.ts';
import { confirmed, type Facts } from '../../service/audit/facts.ts';
import type { CheckName, Verdict } from '../../service/domain.ts';
import { type RungName, rungNamed } from '../../service/ladder/rungs.ts';
import { verdictText } from '../../texts/texts.ts';
import {
  type AuditedFinding,
  acceptedOrders,
  auditAll,
  countViolations,
  findingsOf,
  findingText,
  keptOf,
  type SaleAudit,
} from '../drills/audited.ts';
import { phaseOf } from '../drills/phases.ts';
import { answeredAt, isSale, longestGapBetweenMs } from '../drills/try-times.ts';
import { grouped, sum } from '../stage/counts.ts';
import type { BuyerAnswer } from '../stage/events.ts';
import { type Bilingual, type Judged, ofName, type Table } from '../stage/result.ts';
import type { Experiment, Stage } from '../stage/stage.ts';
import { type BreakChoice, rungsOf } from './break-choice.ts';
import {
  type AnsweredSale,
  atOnceOf,
  type BreakLoad,
  type BrokenSale,
  duringLoads,
  longestMs,
  shapeFor,
  stockFor,
} from './break-loads.ts';
import { FaultRequests } from './fault-requests.ts';
import { calmAfterMs, type FaultStep } from './fault-script.ts';
import { watchLocks, watchSale } from './watches.ts';

const lookEveryMs = 500;

export interface BreakOptions extends BreakChoice<RungName> {
  /** Nobody is asked: each fault comes at its time. */
  readonly steps?: readonly FaultStep[];
}

/** A faster sale keeps no history: its locks are not audited, only its data. */
const perSecondWithHistoryMax = 400;
const withoutHistory = { settings: { HISTORY_FOLDER: '' } };
const warmSeed = 1;
const drainWithinMs = 60_000;

const abouts = {
  byHand: {
    en: 'purchases on one rung or two, while somebody breaks and mends servers by hand',
    zh: '在一个或两个方案上持续下单，同时有人手动给服务器注入故障、再修复',
  },
  atTimes: {
    en: 'purchases on one rung or two, while servers are broken and mended at given times',
    zh: '对一个或两个方案持续下单，同时在给定的时刻注入故障、再恢复',
  },
} as const;

/** Its own result is what was broken, and when: also when it was interrupted. */
export function breakIt(how: keyof typeof abouts): Experiment<BreakOptions, readonly FaultStep[]> {
  let requests: FaultRequests | undefined;
  const played = () => requests?.played ?? [];
  return {
    about: abouts[how],
    soFar: () => ({ own: requests?.playedAndEnded() ?? [] }),
    async play(stage, options) {
      requests = undefined;
      const begin = () => {
        requests = new FaultRequests(stage);
        return requests;
      };
      return { ...(await playOn(stage, options, begin)), own: played() };
    },
  };
}

/** The load begins. */
type Begin = () => FaultRequests;

async function playOn(stage: Stage, options: BreakOptions, begin: Begin): Promise<Judged> {
  const rungs = rungsOf(options);
  const hasHistory = options.perSecond * rungs.length <= perSecondWithHistoryMax;
  const shape = shapeFor(options);
  await stage.serve(hasHistory ? shape : { ...shape, ...withoutHistory });
  for (const each of rungs) await stage.warmUp(each, warmSeed);
  const load = loadOf(stage, options);
  const sales = await putOnSale(stage, rungs, load);
  const unwatch = [
    watchServers(stage),
    ...sales.map((sale) => watchLocks(stage, { ...sale, hasHistory })),
  ];
  const work = (ending: AbortController) => breakUntilEnded(options, load, ending, begin);
  try {
    return await sellAndJudge(stage, sales, load, work);
  } finally {
    for (const end of unwatch) end();
  }
}

/** Until its faults are over, and as long as the audit, and k6, can bear. */
function loadOf(stage: Stage, options: BreakOptions): BreakLoad {
  const { arrivals, perSecond, minutes, steps = [] } = options;
  const last = steps.at(-1);
  const stepsMs = last ? last.seconds * 1_000 + calmAfterMs : 0;
  const wantedMs = Math.max(minutes * 60_000, stepsMs);
  const lastsMs = Math.min(wantedMs, longestMs(options));
  const seconds = Math.round(lastsMs / 1_000);
  if (lastsMs < wantedMs)
    stage.note({
      en: `It ends in ${seconds} s at the latest.`,
      zh: `最迟 ${seconds} 秒后结束。`,
    });
  const atOnce = atOnceOf(options);
  if (atOnce > 1)
    stage.note({
      en: `${atOnce} buyers come at once, every ${atOnce / perSecond} s.`,
      zh: `每 ${atOnce / perSecond} 秒同时来 ${atOnce} 个买家。`,
    });
  return { arrivals, perSecond, lastsMs };
}

async function putOnSale(stage: Stage, rungs: readonly RungName[], load: BreakLoad) {
  const sales: BrokenSale[] = [];
  for (const rung of rungs) {
    const sale = { title: `by hand on ${rung}`, stock: stockFor(load), rung };
    sales.push({ rung, voucherId: await stage.putOnSale(sale) });
  }
  return sales;
}

async function sellAndJudge(
  stage: Stage,
  sales: readonly BrokenSale[],
  load: BreakLoad,
  work: (ending: AbortController) => Promise<string[]>,
): Promise<Judged> {
  const selling = duringLoads(stage, sales, load, async (answered, ending) => {
    const count = watchSales(stage, answered);
    try {
      return { answered, count, unmended: await work(ending) };
    } catch (error) {
      await count();
      throw error;
    }
  });
  const { answered, count, unmended } = await selling;
  const ids = sales.map(({ voucherId }) => voucherId);
  const facts = await stage.allFacts(ids, drainWithinMs);
  await count();
  const faults = stage.injected.map(({ name }) => name);
  const known = load.arrivals === 'k6' ? facts.map(withoutAttempts) : facts;
  return judgeSales(answered, known, faults, unmended);
}

/** k6 tells what was answered, and not to which of its buyers. */
const withoutAttempts = ({ attempts: _, ...facts }: Facts): Facts => facts;

/**
 * What is broken at the end is mended before the last answers are waited for.
 * @returns the names of those faults
 */
async function breakUntilEnded(
  { steps }: BreakOptions,
  { lastsMs, arrivals }: BreakLoad,
  ending: AbortController,
  begin: Begin,
): Promise<string[]> {
  const requests = begin();
  const deadline = performance.now() + lastsMs;
  const hasEnded = () => (arrivals === 'k6' ? ending.signal.aborted : performance.now() > deadline);
  try {
    await (steps ? requests.playUntil(hasEnded, steps) : requests.serveUntil(hasEnded));
    const { unmended } = requests;
    ending.abort();
    await requests.healAll();
    return unmended;
  } finally {
    ending.abort();
  }
}

/** @returns what counts each sale for the last time */
function watchSales(stage: Stage, sales: readonly AnsweredSale[]): () => Promise<void> {
  const lastCounts = sales.map((sale) => watchSale(stage, sale));
  return async () => {
    await Promise.all(lastCounts.map((count) => count()));
  };
}

/**
 * Tells the state of every server of the lab when it changes, whoever changed it.
 * @returns what ends it
 */
function watchServers({ lab, emit }: Stage): () => void {
  let before = '';
  const look = () => {
    const { parts } = lab;
    const now = JSON.stringify(parts);
    if (now !== before) emit({ kind: 'servers', parts });
    before = now;
  };
  look();
  const timer = setInterval(look, lookEveryMs);
  return () => clearInterval(timer);
}

interface AuditedSale extends AnsweredSale {
  readonly audited: SaleAudit;
}

interface BreakFinding extends AuditedFinding {
  readonly rung: RungName;
  readonly isClaimed: boolean;
  readonly text: Bilingual;
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
    countViolations(violated.filter(({ finding }) => finding.check === check));
  const surprises = violated.filter(({ isClaimed }) => !isClaimed);
  return {
    verdict: worstOf(audits.map(({ audit }) => audit.verdict)),
    isAsClaimed: surprises.length === 0,
    conclusions: [...sales.map((sale) => conclusionOf(sale, found)), ...leftBroken(unmended)],
    reasons: [...surprises, ...unknown].map(({ text }) => text),
    asClaimed: violated.filter(({ isClaimed }) => isClaimed).map(({ text }) => text),
    figures: {
      attempts: sum(sales.map(({ answers }) => answers.length)),
      recorded: sum(facts.map((each) => confirmed(each).length)),
      lost: countOf('no-lost-orders'),
      secondOrders: countOf('one-order-per-user'),
      violations: countViolations(violated),
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
  const told = acceptedOrders(facts);
  return confirmed(facts).filter(({ id }) => !told.has(id)).length;
}

/** What became of its promises, and of its orders. */
function conclusionOf(
  { rung, audited: { facts } }: AuditedSale,
  found: readonly BreakFinding[],
): Bilingual {
  const named = (wanted: Verdict) =>
    found
      .filter((each) => each.rung === rung && each.finding.verdict === wanted)
      .map(({ finding }) => finding.check);
  const [broken, unknown] = [named('violated'), named('unknown')];
  const orders = grouped(confirmed(facts).length);
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
    en: `${rung}: ${en.join('; ') || 'every promise held'}; MySQL has ${orders} orders${untold === 0 ? '' : `, ${grouped(untold)} of them without an accepted answer`}.`,
    zh: `${rung}：${zh.join('；') || '每个承诺都守住了'}；MySQL 里有 ${orders} 个订单${untold === 0 ? '' : `，其中 ${grouped(untold)} 个没有得到“已受理”的响应`}。`,
  };
}

/** redis-main loses what it acknowledged: the promise of every order that waits in it. */
const forgets = /^(flush redis-main|restart redis-main empty|promote the replica of redis-main)$/;
const forgotten = ['no-lost-orders', 'responses-match-database', 'redis-matches-mysql'] as const;

/** @param isNamed the rung stands before each sentence */
function foundIn(
  { rung, audited }: AuditedSale,
  isNamed: boolean,
  isForgotten: boolean,
): BreakFinding[] {
  const isInRedis = rungNamed(rung).queueServer === 'redis-main';
  const claimed = [...checksThatBreak(rung), ...(isForgotten && isInRedis ? forgotten : [])];
  return findingsOf(audited).map((each) => ({
    ...each,
    rung,
    isClaimed: claimed.some((check) => check === each.finding.check),
    text: isNamed ? ofName(rung, findingText(each)) : findingText(each),
  }));
}

/** A buyer who comes back is answered with the order that was lost: no answer can be right then. */
function checksThatBreak(rung: RungName): readonly CheckName[] {
  const checks = rungNamed(rung).breaks.map(({ check }) => check);
  return checks.includes('no-lost-orders') ? [...checks, 'responses-match-database'] : checks;
}

function besideTable(sales: readonly AuditedSale[]): Table {
  return {
    title: { en: 'The same purchases on both rungs', zh: '两个方案上同样的请求' },
    legend: {
      'gap ms': { en: 'the longest time without a sale', zh: '最长多久没有成交' },
      recorded: { en: 'orders in MySQL', zh: 'MySQL 里的订单' },
    },
    head: [
      { en: 'rung', zh: '方案' },
      { en: 'accepted', zh: '受理' },
      { en: 'refused', zh: '拒绝' },
      { en: 'unknown', zh: '未知' },
      'p99 ms',
      { en: 'gap ms', zh: '间隔 ms' },
      { en: 'recorded', zh: '入库' },
      { en: 'verdict', zh: '结果' },
    ],
    rows: sales.map(({ rung, answers, audited: { facts, audit } }) => {
      const { accepted, refusedBecause, unknown, p99Ms } = phaseOf(rung, '', answers);
      const counts = [accepted, sum(Object.values(refusedBecause)), unknown];
      const figures = [...counts, p99Ms, withoutSaleMs(answers), confirmed(facts).length];
      return [rung, ...figures.map(String), verdictText(audit.verdict)];
    }),
  };
}

/** The longest, from the first answer to the last. */
function withoutSaleMs(answers: readonly BuyerAnswer[]): number {
  const [first = 0n] = answers.map(answeredAt);
  const last = answers.map(answeredAt).at(-1) ?? first;
  return longestGapBetweenMs(answers.filter(isSale).map(answeredAt), first, last);
}
