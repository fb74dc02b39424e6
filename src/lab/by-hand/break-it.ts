/** Purchases on one rung or two, while somebody breaks servers by hand; then the audit. */
import type { Facts } from '../../service/audit/facts.ts';
import type { RungName } from '../../service/ladder/rungs.ts';
import { warmRung } from '../drills/warm-rung.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import type { Experiment } from '../stage/experiment.ts';
import type { Judged } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import type { BreakChoice } from './break-choice.ts';
import {
  type AnsweredSale,
  atOnceOf,
  type BreakLoad,
  type BrokenSale,
  duringLoads,
  k6SecondsMax,
  stockFor,
} from './break-loads.ts';
import { FaultRequests } from './fault-requests.ts';
import { judgeSales } from './judge-sales.ts';
import { watchLocks } from './watch-locks.ts';
import { watchSale } from './watch-sale.ts';

const lookEveryMs = 500;

export type BreakOptions = BreakChoice<RungName>;

/** Every store is behind its proxy: so each can be slowed, and cut off. */
const shape: ServiceShape = { instances: 4, balancer: 'nginx', network: 'proxied' };
/** In turns, two buyers at once would meet the same two of four instances every time. */
const shapeForTwo: ServiceShape = { ...shape, instances: 3 };
/** A faster sale keeps no history: its locks are not audited, only its data. */
const perSecondWithHistoryMax = 400;
const withoutHistory = { settings: { HISTORY_FOLDER: '' } };
/** The audit reads all of them at once. */
const purchasesMax = 200_000;
const warmSeed = 1;
const drainWithinMs = 60_000;

export const breakIt: Experiment<BreakOptions> = {
  about: {
    en: 'purchases on one rung or two, while somebody breaks and mends servers by hand',
    zh: '在一个或两个方案上持续下单，同时有人手动给服务器注入故障、再修复',
  },
  async play(stage, options) {
    const { rung, beside } = options;
    const rungs = beside ? [rung, beside] : [rung];
    const hasHistory = options.perSecond * rungs.length <= perSecondWithHistoryMax;
    const own = beside ? shapeForTwo : shape;
    await stage.serve(hasHistory ? own : { ...own, ...withoutHistory });
    for (const each of rungs) await warmRung(stage, each, warmSeed);
    const load = loadOf(stage, options, rungs.length);
    const sales = await putOnSale(stage, rungs, load);
    const unwatch = [
      watchServers(stage),
      ...sales.map((sale) => watchLocks(stage, { ...sale, hasHistory })),
    ];
    try {
      return await sellAndJudge(stage, sales, load);
    } finally {
      for (const end of unwatch) end();
    }
  },
};

/** As long as the audit, and k6, can bear. */
function loadOf(stage: Stage, options: BreakOptions, rungs: number): BreakLoad {
  const { arrivals, perSecond, minutes } = options;
  const wantedMs = minutes * 60_000;
  const mostMs = (purchasesMax / (perSecond * rungs)) * 1_000;
  const lastsMs = Math.min(wantedMs, mostMs, ...(arrivals === 'k6' ? [k6SecondsMax * 1_000] : []));
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
): Promise<Judged> {
  const { answered, count } = await duringLoads(stage, sales, load, async (answered, ending) => {
    const count = watchSales(stage, answered);
    try {
      await breakUntilEnded(stage, load, ending);
      return { answered, count };
    } catch (error) {
      await count();
      throw error;
    }
  });
  const ids = sales.map(({ voucherId }) => voucherId);
  const facts = await stage.allFacts(ids, drainWithinMs);
  await count();
  const faults = stage.injected.map(({ name }) => name);
  return judgeSales(answered, load.arrivals === 'k6' ? facts.map(withoutAttempts) : facts, faults);
}

/** k6 tells what was answered, and not to which of its buyers. */
const withoutAttempts = ({ attempts: _, ...facts }: Facts): Facts => facts;

/** What is broken at the end is mended before the last answers are waited for. */
async function breakUntilEnded(
  stage: Stage,
  { lastsMs, arrivals }: BreakLoad,
  ending: AbortController,
): Promise<void> {
  const requests = new FaultRequests(stage);
  const deadline = performance.now() + lastsMs;
  const hasEnded = () => (arrivals === 'k6' ? ending.signal.aborted : performance.now() > deadline);
  try {
    await requests.serveUntil(hasEnded);
    ending.abort();
    await requests.healAll();
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
