/**
 * FLUSHALL on redis-main in the middle of a rush on the final rung. The service refuses every
 * purchase until Redis is rebuilt from MySQL; then sales resume until the last unit. Nothing may be
 * sold twice. An order that was accepted before it, and that no store has, is lost: that is
 * counted, and claimed.
 */
import { audit } from '../../service/audit/audit.ts';
import { confirmed, type Facts, usersWithSeveralOrders } from '../../service/audit/facts.ts';
import { type RebuildStep, rebuild } from '../../service/orders/reconcile/rebuild.ts';
import { reconcile } from '../../service/orders/reconcile/reconcile.ts';
import { stopWorkers } from '../faults/process.ts';
import { loseKeys } from '../faults/redis.ts';
import type { Judged } from '../stage/result.ts';
import { planPurchases } from '../workload/steady-purchases.ts';
import { lostSales } from './audited.ts';
import type { Drill } from './drill.ts';
import {
  countSales,
  expected,
  judgeOutages,
  type PlayedOutages,
  resumedAfterMs,
  type SeenOutage,
  type Timeline,
  unless,
} from './expectations.ts';
import { type Outage, outageRung, playOutages, type Scene } from './outage.ts';
import { phasesAround, phaseTable } from './phases.ts';
import { answeredAt, isSale, msBetween, now, salesSince, sentBetween } from './try-times.ts';
import { shapeUnderFire } from './under-fire.ts';

/** More than is sold until the rebuild, so that the last unit is sold after it. */
const stock = 2_000;
/** Accepted orders: sent before the workers stop, and sent between that and the flush. */
const accepted = { recorded: 60, unrecorded: 60 } as const;
const withinMs = 60_000;

export const flushDuringRush: Drill = {
  about: {
    en: 'redis-main loses every key while lua-stream sells, and is rebuilt: what is lost, counted',
    zh: 'lua-stream 下单时 redis-main 丢失所有 key 并重建：丢了什么，逐一计数',
  },
  takesMinutes: 0.5,
  async play(stage, { seed }) {
    const settings = { ...shapeUnderFire.settings, HISTORY_FOLDER: '' };
    await stage.serve({ ...shapeUnderFire, settings });
    const load = { title: `flush-during-rush, seed ${seed}`, seed, stock, forMs: withinMs };
    const played = await playOutages(stage, [flush], load);
    const { verdict } = await reconcile(stage.connections, played.facts.voucherId);
    return judgeFlush(played, verdict === 'consistent');
  },
};

export const flush: Outage = {
  name: { en: 'flush', zh: '清空 Redis' },
  loses: true,
  expects: [
    expected.sellsNothing,
    ({ downFrom }, facts) => {
      const late = salesSince(lostSales(facts), downFrom).length;
      return unless(late === 0, {
        en: `${late} orders are lost that were accepted after it`,
        zh: `清空之后受理的订单，丢了 ${late} 个`,
      });
    },
  ],
  needs: [
    ({ tries, brokenAt }, facts) => {
      const before = tries.filter((each) => isSale(each) && answeredAt(each) < brokenAt);
      const isRecorded = before.length > lostSales(facts).length;
      return unless(isRecorded, {
        en: 'no order was recorded before it',
        zh: '清空之前没有订单入库',
      });
    },
    (_, facts) =>
      unless(lostSales(facts).length > 0, {
        en: 'no accepted order was in Redis alone',
        zh: '没有已受理的订单只在 Redis 里',
      }),
    (seen) =>
      unless(refusals(seen) > 0, {
        en: 'nobody bought while Redis was rebuilt',
        zh: '重建期间没有人下单',
      }),
    expected.soldAgainWithin(withinMs),
    (_, facts) =>
      unless(confirmed(facts).length >= facts.initialStock, {
        en: 'the voucher is not sold out',
        zh: '券没有卖完',
      }),
  ],
  play: loseAndRebuild,
};

const rebuildSteps: Readonly<Record<RebuildStep, string>> = {
  frozen: '已停卖',
  alone: '换了数据版本',
  read: '读取完毕',
  restored: '数据已恢复',
  open: '重新开卖',
};

/** The workers are stopped before the flush, so that some accepted orders are not recorded yet. */
async function loseAndRebuild({ stage, voucherId, soldSince }: Scene) {
  const sold = (count: number, since: bigint) =>
    stage.until('the sales', withinMs, () => soldSince(since) >= count);
  await sold(accepted.recorded, 0n);
  const startWorkers = await stage.inject(stopWorkers);
  await sold(accepted.unrecorded, now());
  const brokenAt = now();
  const undo = await stage.inject(loseKeys);
  const downFrom = now();
  await startWorkers();
  const isRefused = () => stage.tries.some(({ reason }) => reason === 'not-ready');
  await stage.until('a refusal', withinMs, isRefused);
  const downUntil = now();
  await rebuild(stage.connections, (step) =>
    stage.note({ en: `rebuild: ${step}`, zh: `重建：${rebuildSteps[step]}` }),
  );
  const mendedAt = now();
  await undo();
  // Also by users whose order is lost: they may buy again.
  const purchases = planPurchases(voucherId, 3_000, stock);
  const rest = { name: outageRung, perSecond: 1_000, finishWithinMs: withinMs, purchases };
  const later = async () => void (await stage.sell(rest));
  return { brokenAt, downFrom, downUntil, mendedAt, later };
}

/** @param isConsistent whether Redis and MySQL agree in the end. */
export function judgeFlush(played: PlayedOutages, isConsistent: boolean): Judged {
  const { facts, seen } = played;
  const lost = lostSales(facts);
  const orders = confirmed(facts).length;
  const agree = unless(isConsistent, {
    en: 'Redis and MySQL do not agree in the end',
    zh: '最后 Redis 和 MySQL 对不上',
  });
  const audits = [{ facts, audit: audit(withoutLost(facts)) }];
  const ms = seen.map(({ brokenAt, downFrom }) => msBetween(brokenAt, downFrom)).join();
  const claimed = {
    en: `${lost.length} accepted orders were in Redis alone when it lost its keys, within ${ms} ms; they are lost, and their units were sold again`,
    zh: `Redis 在 ${ms} ms 内丢失 key 时，有 ${lost.length} 个已受理的订单只在 Redis 里；它们丢了，库存重新卖出`,
  };
  return {
    ...judgeOutages([played], { audits, broken: [agree] }),
    figures: {
      accepted: countSales(facts.attempts ?? []),
      recorded: orders,
      lostAccepted: lost.length,
      oversold: Math.max(0, orders - facts.initialStock),
      usersWithTwoOrders: usersWithSeveralOrders(facts),
      ...Object.assign({}, ...seen.map(costOf)),
    },
    asClaimed: lost.length > 0 ? [claimed] : [],
    tables: [phaseTable(seen.flatMap((each) => phasesAround(outageRung, each)))],
  };
}

/** Without every answer that names a lost order: they are claimed. */
function withoutLost(facts: Facts): Facts {
  const lost = new Set<string | undefined>(lostSales(facts).map(({ orderId }) => orderId));
  const attempts = facts.attempts?.filter(({ orderId }) => !orderId || !lost.has(orderId));
  return { ...facts, ...(attempts && { attempts }) };
}

/** Of purchases that were sent while Redis was empty or being rebuilt. */
const refusals = ({ tries, downFrom, mendedAt }: Timeline): number =>
  sentBetween(tries, downFrom, mendedAt).filter(
    (each) => each.reason === 'not-ready' && answeredAt(each) < mendedAt,
  ).length;

function costOf(seen: SeenOutage): Record<string, number> {
  const soldAgainAfterMs = resumedAfterMs(seen);
  return {
    refusedNotReady: refusals(seen),
    withoutSalesMs: msBetween(seen.downFrom, seen.mendedAt),
    ...(soldAgainAfterMs !== null && { soldAgainAfterMs }),
  };
}
