/**
 * FLUSHALL on redis-main in the middle of a rush on the final rung. The service refuses every
 * purchase until Redis is rebuilt from MySQL; then sales resume until the last unit. Nothing may be
 * sold twice; what only Redis knew is lost, and is counted.
 */
import { rebuild } from '../../service/orders/reconcile/rebuild.ts';
import { reconcile } from '../../service/orders/reconcile/reconcile.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { stopWorkers } from '../faults/process.ts';
import { loseKeys } from '../faults/redis.ts';
import type { Stage } from '../stage/stage.ts';
import { planPurchases, type Try } from '../workload/steady-purchases.ts';
import type { Drill } from './drill.ts';
import { judgeFlush } from './flush-figures.ts';
import { hasSaleSince, now, salesSince } from './try-times.ts';

const rung = 'lua-stream';
/** More than the first load can sell, so that the second one sells the last unit. */
const stock = 2_000;
/** Accepted orders: sent before the workers stop, and sent between that and the flush. */
const accepted = { recorded: 60, unrecorded: 60 } as const;
const withinMs = 60_000;

export const flushShape: ServiceShape = {
  ...{ instances: 4, balancer: 'nginx' },
  settings: { ORDER_WORKERS: '2', HISTORY_FOLDER: '' },
};

export const flushDuringRush: Drill = {
  about: {
    en: 'redis-main loses every key while lua-stream sells, and is rebuilt: what is lost, counted',
    zh: 'lua-stream 下单时 redis-main 丢失所有 key 并重建：丢了什么，逐一计数',
  },
  takesMinutes: 0.5,
  async play(stage, { seed }) {
    await stage.serve(flushShape);
    const title = `flush-during-rush, seed ${seed}`;
    const voucherId = await stage.putOnSale({ title, stock, rung });
    const times = await stage.during(rush(voucherId, seed), (tries) => flush(stage, tries));
    await stage.sell(untilSoldOut(voucherId, seed));
    const facts = await stage.facts(voucherId);
    const { verdict } = await reconcile(stage.connections, voucherId);
    return judgeFlush({ facts, ...times, isConsistent: verdict === 'consistent' });
  },
};

/** It lasts 45 s: on a slow machine, the workers restart and Redis is rebuilt in it. */
const rush = (voucherId: string, seed: number) => ({
  ...{ name: rung, perSecond: 40 },
  purchases: planPurchases(voucherId, 1_800, seed),
});

/** Also by users whose order is lost: they may buy again. */
const untilSoldOut = (voucherId: string, seed: number) => ({
  ...{ name: rung, perSecond: 1_000, finishWithinMs: withinMs },
  purchases: planPurchases(voucherId, 3_000, seed + 1),
});

/** The workers are stopped before the flush, so that some accepted orders are not recorded yet. */
async function flush(stage: Stage, tries: readonly Try[]) {
  const sold = (count: number, since: bigint) =>
    stage.until('the sales', withinMs, () => salesSince(tries, since).length >= count);
  await sold(accepted.recorded, 0n);
  const startWorkers = await stage.inject(stopWorkers);
  await sold(accepted.unrecorded, now());
  const flushAt = now();
  const undo = await stage.inject(loseKeys);
  const flushedAt = now();
  await startWorkers();
  const isRefused = () => tries.some(({ reason }) => reason === 'not-ready');
  await stage.until('a refusal', withinMs, isRefused);
  const rebuildAt = now();
  await rebuild(stage.connections, (step) => stage.note(`rebuild: ${step}`));
  const rebuiltAt = now();
  await undo();
  await stage.until('a sale', withinMs, () => hasSaleSince(tries, rebuiltAt));
  return { flushAt, flushedAt, rebuildAt, rebuiltAt };
}
