/**
 * Order workers scale out: 1, 2 and 4 of them on four shards, while `lua-stream` sells a voucher on
 * each. With two or more, one is killed with orders of every shard in hand, and the others must
 * record these. The moment is made: the stock is locked in MySQL, so each worker takes orders and
 * stands still in the middle of recording them.
 */

import type { Facts } from '../../audit/facts.ts';
import { readHistory } from '../../audit/read-history.ts';
import type { Connections } from '../../connections/connections.ts';
import type { ShardKeys } from '../../connections/sale-keys.ts';
import { DeadlinePassed } from '../../errors.ts';
import { countBy, groupBy } from '../../grouping.ts';
import { findRecorded } from '../../orders/record-orders.ts';
import { depthOfShards } from '../../queues/shared/redis-queue.ts';
import type { Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import { type ServiceShape, workerNames } from '../environment/servers/service.ts';
import { waitUntil } from '../environment/wait-until.ts';
import type { Fault, Undo } from '../faults/fault.ts';
import { holdStock } from '../faults/hold-stock.ts';
import { killWorker } from '../faults/stop-workers.ts';
import { putOnSale } from '../workload/create-voucher.ts';
import { allDrained } from '../workload/drained.ts';
import { endSales } from '../workload/end-sales.ts';
import {
  type Purchase,
  planPurchases,
  type SteadyLoad,
  type Try,
} from '../workload/steady-purchases.ts';
import type { Drill, DrillOptions, DrillResult } from './drill.ts';
import { ordersInHand, ownConsumers, readers } from './in-hand.ts';
import { buyRecorded, inject } from './recorded.ts';
import { judgeScaleOut, type Killed, type Step } from './scale-out-figures.ts';

const rung = 'lua-stream';
const shards = 4;
/** One client alone: each order is a delivery of its own. As fast as it goes. While one dies. */
const loads = {
  first: { purchasesPerSecond: 10_000, clients: 1 },
  waiting: { purchasesPerSecond: 10_000 },
  kill: { purchasesPerSecond: 200 },
} as const;
/** Of each voucher: half of them buy before the kill. MySQL is locked only for seconds. */
const usersFor = (minutes: number): number =>
  Math.min(1_000, Math.max(200, Math.round(minutes * 1_200)));
const withinMs = 30_000;

const shapeOf = (workers: number): ServiceShape => ({
  ...{ instances: 2, balancer: 'nginx' },
  settings: {
    ALLOWED_RUNGS: rung,
    SALE_SHARDS: String(shards),
    ORDER_WORKERS: String(workers),
    CLAIM_IDLE_MS: '2000',
  },
});

export const workersScaleOut: Drill = {
  about: '1, 2, 4 order workers on 4 shards; one dies with orders in hand, and others record them',
  run: (lab, options) => scaleOut(lab, [1, 2, 4], options),
};

export async function scaleOut(
  lab: Lab,
  numbers: readonly number[],
  options: DrillOptions,
): Promise<DrillResult> {
  const steps: Step[] = [];
  const faults: string[] = [];
  await withConnections(ofShards(lab), forgetShards);
  for (const workers of numbers) {
    options.signal.throwIfAborted();
    await lab.serve(shapeOf(workers));
    const step = await withConnections(ofShards(lab), (connections) =>
      playStep({ lab, connections, workers, options, faults }),
    );
    steps.push(step);
  }
  return { ...judgeScaleOut(steps), faults: countBy(faults) };
}

/** The lab itself has one shard. */
const ofShards = ({ environment }: Lab) => ({
  environment: { ...environment, SALE_SHARDS: String(shards) },
});

/** What an earlier run left there may be of an older epoch. The lab uses the first shard only. */
async function forgetShards(connections: Connections): Promise<void> {
  const redis = connections.redis('admin');
  for (const { epoch, orders, queued } of connections.saleKeys.shards.slice(1))
    await redis.del(epoch, orders, queued);
}

interface Play {
  readonly lab: Lab;
  readonly connections: Connections;
  readonly workers: number;
  readonly options: DrillOptions;
  /** The names of those that were injected. */
  readonly faults: string[];
}

async function playStep(play: Play): Promise<Step> {
  const { workers, options } = play;
  const users = usersFor(options.minutes);
  const vouchers = await onEveryShard(play, users);
  const plan = planOf(vouchers, users, options.seed);
  const half = Math.ceil(plan.length / 2);
  const sale: Sale = { ...play, vouchers, tries: [] };
  const waited = await recordWaiting(sale, plan.slice(0, half));
  // Without names of their own, nobody can tell what a worker has in hand.
  const isPlayed = workers > 1 && waited.withoutConsumer.length === 0;
  const killed = isPlayed ? await killOne(sale, plan.slice(half)) : undefined;
  const purchases = isPlayed ? plan : plan.slice(0, half);
  const facts = await collect(sale);
  await endSales(sale.connections, vouchers); // The lab has one shard afterwards.
  return { workers, ...waited, killed, purchases, tries: sale.tries, facts };
}

interface Sale extends Play {
  readonly vouchers: readonly string[];
  /** Every answer so far. */
  readonly tries: Try[];
}

async function onEveryShard({ lab, connections, workers }: Play, stock: number): Promise<string[]> {
  const tokenSecret = lab.tokenSecret;
  const byShard = new Map<ShardKeys, string>();
  while (byShard.size < shards) {
    const sale = { title: `workers-scale-out, ${workers}`, stock, rung };
    const id = await putOnSale(lab.baseUrl, tokenSecret, lab.shape.instances, sale);
    byShard.set(connections.saleKeys.of(id), id);
  }
  return [...byShard.values()];
}

/** The vouchers take turns, so that every shard gets orders all the time. */
function planOf(vouchers: readonly string[], users: number, seed: number): Purchase[] {
  const plans = vouchers.map((voucherId) => planPurchases(voucherId, users, seed));
  const [first = []] = plans;
  return first.flatMap((_, index) => plans.flatMap((plan) => plan[index] ?? []));
}

/** Orders gather while the stock is locked; then the workers record them. */
async function recordWaiting(sale: Sale, purchases: readonly Purchase[]) {
  const { connections, workers } = sale;
  const all = shards * workers;
  const asked = async () => (await readers(connections)) >= all;
  await waitUntil('every worker to ask for orders', withinMs, asked).catch(() => {});
  const waited = await whileLocked(sale, async () => {
    // A worker keeps what it takes, so the next order of the shard goes to the next worker.
    await buy(sale, purchases.slice(0, 3 * all), loads.first);
    const withoutConsumer = await missingConsumers(sale);
    await buy(sale, purchases.slice(3 * all), loads.waiting);
    return { withoutConsumer, waiting: await depth(connections) };
  });
  const isEmpty = async () => (await depth(connections)) === 0;
  return { ...waited, recordedMs: await msUntil('the orders to be recorded', nowMs(), isEmpty) };
}

/** Each worker must read every shard, under a name that no other worker has. */
async function missingConsumers({ lab, connections }: Play): Promise<string[]> {
  const all = workerNames(lab.shape).map(async (worker) => {
    const names = await ownConsumers(connections, lab.pidOf(worker));
    return names.flatMap((own, shard) => (own.length === 0 ? [`${worker}, shard ${shard}`] : []));
  });
  return (await Promise.all(all)).flat();
}

/** While more is sold. Its successor waits until the others have recorded everything. */
async function killOne(sale: Sale, purchases: readonly Purchase[]): Promise<Killed> {
  const { lab, connections, workers, options } = sale;
  const worker = workerNames(lab.shape)[options.seed % workers] ?? '';
  const pid = lab.pidOf(worker);
  let buying = Promise.resolve();
  try {
    const { diedAt, startNext, ...had } = await whileLocked(sale, () => {
      buying = buy(sale, purchases, loads.kill); // Now, since no order is half recorded.
      return die(sale, worker, pid);
    });
    try {
      const claimedMs = await msUntil('its orders to be claimed', diedAt, async () => {
        const left = await ordersInHand(connections, pid);
        return left.every(({ length }) => length === 0);
      });
      await buying;
      await msUntil('all to be recorded', nowMs(), async () => (await depth(connections)) === 0);
      return { worker, ...had, claimedMs, recordedByOthers: recordedByOthers(sale, worker) };
    } finally {
      await startNext();
    }
  } finally {
    await buying;
  }
}

/** Each worker that reads takes an order and then stands still: soon this one has all shards. */
async function die(sale: Sale, worker: string, pid: number) {
  const { connections } = sale;
  await waitUntil(`${worker} to have orders of every shard`, withinMs, async () => {
    const taken = await ordersInHand(connections, pid);
    return taken.every(({ length }) => length > 0);
  });
  const diedAt = nowMs();
  const startNext = await injected(sale, killWorker(worker));
  const inHand = await ordersInHand(connections, pid);
  const recorded = await findRecorded(connections.mysql(), inHand.flat());
  const idsInHand = inHand.map((orders) => orders.map(({ id }) => id));
  return { diedAt, startNext, inHand: idsInHand, recordedBefore: recorded.size };
}

/** By the history, which has who recorded an order. */
function recordedByOthers({ lab, vouchers }: Sale, worker: string): ReadonlySet<string> {
  const all = vouchers.flatMap((id) => readHistory(lab.historyFolder, id).history);
  const others = all.filter(({ event, instance }) => event === 'recorded' && instance !== worker);
  return new Set(others.map(({ orderId }) => orderId));
}

async function collect({ connections, vouchers, tries }: Sale): Promise<Facts[]> {
  const attempts = groupBy(tries, ({ voucherId }) => voucherId);
  const facts = await allDrained(connections, vouchers);
  return facts.map((each) => ({ ...each, attempts: attempts.get(each.voucherId) ?? [] }));
}

async function whileLocked<T>(sale: Sale, work: () => Promise<T>): Promise<T> {
  const unlock = await injected(sale, holdStock(sale.vouchers));
  return work().finally(unlock);
}

function injected({ lab, options, faults }: Play, fault: Fault): Promise<Undo> {
  faults.push(fault.name);
  return inject(lab, fault, options.recorder);
}

async function buy(
  { lab, options, tries }: Sale,
  purchases: readonly Purchase[],
  speed: Pick<SteadyLoad, 'purchasesPerSecond' | 'clients'>,
): Promise<void> {
  const { baseUrl } = lab;
  const tokenSecret = lab.tokenSecret;
  const giveUp = AbortSignal.any([options.signal, AbortSignal.timeout(2 * withinMs)]);
  const onTry = (attempt: Try) => void tries.push(attempt);
  const load = { baseUrl, tokenSecret, ...speed, giveUp, onTry };
  await buyRecorded(rung, purchases, load, options.recorder);
}

/** Of all shards: what is not recorded. */
function depth(connections: Connections): Promise<number> {
  const redis = connections.redis('admin');
  return depthOfShards(connections.saleKeys, ({ orders }) => redis.xlen(orders));
}

/** Null when it takes too long. */
async function msUntil(
  description: string,
  since: number,
  condition: () => Promise<boolean>,
): Promise<number | null> {
  try {
    await waitUntil(description, withinMs, condition, 10);
    return nowMs() - since;
  } catch (error) {
    if (error instanceof DeadlinePassed) return null;
    throw error;
  }
}

const nowMs = (): number => performance.now();
