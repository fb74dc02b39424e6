/** Purchases on one rung or two, while servers are broken by hand, or at their times; the audit. */
import type { Facts } from '../../service/audit/facts.ts';
import type { RungName } from '../../service/ladder/rungs.ts';
import { warmRung } from '../drills/warm-rung.ts';
import type { Experiment } from '../stage/experiment.ts';
import type { Judged } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
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
import { judgeSales } from './judge-sales.ts';
import { watchLocks } from './watch-locks.ts';
import { watchSale } from './watch-sale.ts';

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
  let played: FaultStep[] = [];
  return {
    about: abouts[how],
    soFar: () => ({ own: played }),
    async play(stage, options) {
      played = [];
      const judged = await playOn(stage, options, (step) => played.push(step));
      return { ...judged, own: played };
    },
  };
}

type RecordStep = (step: FaultStep) => void;

async function playOn(stage: Stage, options: BreakOptions, record: RecordStep): Promise<Judged> {
  const rungs = rungsOf(options);
  const hasHistory = options.perSecond * rungs.length <= perSecondWithHistoryMax;
  const shape = shapeFor(options);
  await stage.serve(hasHistory ? shape : { ...shape, ...withoutHistory });
  for (const each of rungs) await warmRung(stage, each, warmSeed);
  const load = loadOf(stage, options);
  const sales = await putOnSale(stage, rungs, load);
  const unwatch = [
    watchServers(stage),
    ...sales.map((sale) => watchLocks(stage, { ...sale, hasHistory })),
  ];
  const work = (ending: AbortController) => breakUntilEnded(stage, options, load, ending, record);
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
  if (lastsMs < wantedMs) stage.note(`It ends in ${Math.round(lastsMs / 1_000)} s at the latest.`);
  const atOnce = atOnceOf(options);
  if (atOnce > 1) stage.note(`${atOnce} buyers come at once, every ${atOnce / perSecond} s.`);
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
  stage: Stage,
  { steps }: BreakOptions,
  { lastsMs, arrivals }: BreakLoad,
  ending: AbortController,
  record: RecordStep,
): Promise<string[]> {
  const requests = new FaultRequests(stage, record);
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
