/**
 * Order workers scale out: 1, 2 and 4 of them on four shards, while `lua-stream` sells a voucher on
 * each. With two or more, one is killed with orders of every shard in hand, and the others must
 * record these. The moment is made: the stock is locked in MySQL, so each worker takes orders and
 * stands still in the middle of recording them.
 */

import type { Redis } from 'ioredis';
import type { Facts } from '../../service/audit/facts.ts';
import { readHistory } from '../../service/audit/read-history.ts';
import type { Connections } from '../../service/connections/connections.ts';
import { orderGroup, type ShardKeys } from '../../service/connections/sale-keys.ts';
import type { Order } from '../../service/domain.ts';
import { findRecorded } from '../../service/orders/record-orders.ts';
import { ordersOfEntry } from '../../service/queues/shared/order-fields.ts';
import { consumersOf } from '../../service/queues/shared/stream-reader.ts';
import type { Bilingual } from '../../texts/texts.ts';
import type { Lab } from '../environment/lab.ts';
import { openConnections } from '../environment/lab-connections.ts';
import { type ServiceShape, workerNames } from '../environment/servers/service.ts';
import { isInTime } from '../environment/wait-until.ts';
import { holdStock } from '../faults/database.ts';
import { killWorker } from '../faults/process.ts';
import { orderDepth } from '../stage/order-depth.ts';
import { type Judged, ofName } from '../stage/result.ts';
import type { Load, Stage } from '../stage/stage.ts';
import { endSales } from '../workload/sale.ts';
import { type Purchase, planPurchases } from '../workload/steady-purchases.ts';
import type { Drill, DrillOptions } from './drill.ts';
import { allOfName, type Found, noneOf, unless } from './expectations.ts';
import { type Sale as Bought, judgeUnderFire } from './under-fire.ts';

const rung = 'lua-stream';
const shards = 4;
/** One client alone: each order is a delivery of its own. As fast as it goes. While one dies. */
const loads = {
  first: { perSecond: 10_000, clients: 1 },
  waiting: { perSecond: 10_000 },
  kill: { perSecond: 200 },
} as const;
/** Of each voucher: half of them buy before the kill. MySQL is locked only for seconds. */
const usersFor = (minutes: number): number =>
  Math.min(1_000, Math.max(200, Math.round(minutes * 1_200)));
const withinMs = 30_000;

const shapeOf = (workers: number): ServiceShape => ({
  instances: 2,
  balancer: 'nginx',
  settings: {
    ALLOWED_RUNGS: rung,
    SALE_SHARDS: String(shards),
    ORDER_WORKERS: String(workers),
    CLAIM_IDLE_MS: '2000',
  },
});

export const workersScaleOut: Drill = {
  about: {
    en: '1, 2, 4 order workers on 4 shards; one dies with orders in hand, and others record them',
    zh: '4 个分片上 1、2、4 个订单消费者；其中一个拿着订单宕机，其他的替它入库',
  },
  takesMinutes: 1,
  play: (stage, options) => scaleOut(stage, [1, 2, 4], options),
};

export async function scaleOut(
  stage: Stage,
  numbers: readonly number[],
  options: DrillOptions,
): Promise<Judged> {
  const steps: ScaleStep[] = [];
  await forgetShards(stage.lab);
  for (const workers of numbers) {
    await stage.serve(shapeOf(workers));
    steps.push(await playStep(stage, workers, options));
  }
  return judgeScaleOut(steps);
}

/** What an earlier run left there may be of an older epoch. The lab uses the first shard only. */
async function forgetShards(lab: Lab): Promise<void> {
  const connections = await openConnections(lab, shapeOf(1).settings);
  try {
    for (const { epoch, orders, queued } of connections.saleKeys.shards.slice(1))
      await connections.redis('admin').del(epoch, orders, queued);
  } finally {
    await connections.close();
  }
}

/** A voucher on each shard. */
interface Sale {
  readonly stage: Stage;
  readonly workers: number;
  readonly vouchers: readonly string[];
}

async function playStep(
  stage: Stage,
  workers: number,
  { seed, minutes }: DrillOptions,
): Promise<ScaleStep> {
  const users = usersFor(minutes);
  const vouchers = await onEveryShard(stage, workers, users);
  const plan = planOf(vouchers, users, seed);
  const half = Math.ceil(plan.length / 2);
  const sale = { stage, workers, vouchers };
  const waited = await recordWaiting(sale, plan.slice(0, half));
  // Without names of their own, nobody can tell what a worker has in hand.
  const isPlayed = workers > 1 && waited.withoutConsumer.length === 0;
  const killed = isPlayed ? await killOne(sale, seed, plan.slice(half)) : undefined;
  const purchases = isPlayed ? plan : plan.slice(0, half);
  const facts = await stage.allFacts(vouchers);
  await endSales(stage.connections, vouchers); // The lab has one shard afterwards.
  const tries = stage.tries.filter(({ voucherId }) => vouchers.includes(voucherId));
  return { workers, ...waited, killed, purchases, tries, facts };
}

async function onEveryShard(stage: Stage, workers: number, stock: number): Promise<string[]> {
  const byShard = new Map<ShardKeys, string>();
  while (byShard.size < shards) {
    const id = await stage.putOnSale({ title: `workers-scale-out, ${workers}`, stock, rung });
    byShard.set(stage.connections.saleKeys.of(id), id);
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
  const { stage, workers } = sale;
  const { connections } = stage;
  const depth = orderDepth(connections, rung);
  const all = shards * workers;
  const asked = async () => (await readers(connections)) >= all;
  await msUntil(stage, 'every worker to ask for orders', nowMs(), asked);
  const waited = await whileLocked(sale, async () => {
    // A worker keeps what it takes, so the next order of the shard goes to the next worker.
    await buy(stage, purchases.slice(0, 3 * all), loads.first);
    const withoutConsumer = await missingConsumers(stage);
    await buy(stage, purchases.slice(3 * all), loads.waiting);
    return { withoutConsumer, waiting: await depth() };
  });
  const isEmpty = async () => (await depth()) === 0;
  const recordedMs = await msUntil(stage, 'the orders to be recorded', nowMs(), isEmpty);
  return { ...waited, recordedMs };
}

/** Each worker must read every shard, under a name that no other worker has. */
async function missingConsumers({ lab, connections }: Stage): Promise<string[]> {
  const all = workerNames(lab.shape).map(async (worker) => {
    const names = await ownConsumers(connections, lab.pidOf(worker));
    return names.flatMap((own, shard) => (own.length === 0 ? [`${worker}, shard ${shard}`] : []));
  });
  return (await Promise.all(all)).flat();
}

/** While more is sold. Its successor waits until the others have recorded everything. */
async function killOne(
  sale: Sale,
  seed: number,
  purchases: readonly Purchase[],
): Promise<KilledWorker> {
  const { stage, workers } = sale;
  const { lab, connections } = stage;
  const depth = orderDepth(connections, rung);
  const worker = workerNames(lab.shape)[seed % workers] ?? '';
  const pid = lab.pidOf(worker);
  const areClaimed = async () => {
    const left = await ordersInHand(connections, pid);
    return left.every(({ length }) => length === 0);
  };
  const isEmpty = async () => (await depth()) === 0;
  let buying = Promise.resolve();
  try {
    const { diedAt, startNext, ...had } = await whileLocked(sale, () => {
      buying = buy(stage, purchases, loads.kill); // Now, since no order is half recorded.
      buying.catch(() => {}); // It is awaited below.
      return die(stage, worker, pid);
    });
    const claimedMs = await msUntil(stage, 'its orders to be claimed', diedAt, areClaimed);
    await buying;
    await msUntil(stage, 'all to be recorded', nowMs(), isEmpty);
    const recorded = recordedByOthers(sale, worker);
    await startNext();
    return { worker, ...had, claimedMs, recordedByOthers: recorded };
  } finally {
    await buying;
  }
}

/** Each worker that reads takes an order and then stands still: soon this one has all shards. */
async function die(stage: Stage, worker: string, pid: number) {
  const { connections } = stage;
  await stage.until(`${worker} to have orders of every shard`, withinMs, async () => {
    const taken = await ordersInHand(connections, pid);
    return taken.every(({ length }) => length > 0);
  });
  const diedAt = nowMs();
  const startNext = await stage.inject(killWorker(worker));
  const inHand = await ordersInHand(connections, pid);
  const recorded = await findRecorded(connections.mysql(), inHand.flat());
  const idsInHand = inHand.map((orders) => orders.map(({ id }) => id));
  return { diedAt, startNext, inHand: idsInHand, recordedBefore: recorded.size };
}

/** By the history, which has who recorded an order. */
function recordedByOthers({ stage, vouchers }: Sale, worker: string): ReadonlySet<string> {
  const all = vouchers.flatMap((id) => readHistory(stage.lab.historyFolder, id).history);
  const others = all.filter(({ event, instance }) => event === 'recorded' && instance !== worker);
  return new Set(others.map(({ orderId }) => orderId));
}

async function whileLocked<T>({ stage, vouchers }: Sale, work: () => Promise<T>): Promise<T> {
  const unlock = await stage.inject(holdStock(vouchers));
  return work().finally(unlock);
}

async function buy(
  stage: Stage,
  purchases: readonly Purchase[],
  speed: Pick<Load, 'perSecond' | 'clients'>,
): Promise<void> {
  await stage.sell({ name: rung, purchases, ...speed, finishWithinMs: 2 * withinMs });
}

/** Null when it takes too long. */
async function msUntil(
  stage: Stage,
  description: string,
  since: number,
  condition: () => Promise<boolean>,
): Promise<number | null> {
  const waiting = stage.until(description, withinMs, condition, 10);
  return (await isInTime(waiting)) ? nowMs() - since : null;
}

const nowMs = (): number => performance.now();

/** A worker that was killed with orders in hand. */
export interface KilledWorker {
  readonly worker: string;
  /** For each shard, the orders that it had when it died. */
  readonly inHand: readonly (readonly string[])[];
  /** Of these, those that MySQL had already: nobody had to take them over. */
  readonly recordedBefore: number;
  /** From its death until none was pending for it; null when some always were. */
  readonly claimedMs: number | null;
  /** The orders that workers with another name recorded. */
  readonly recordedByOthers: ReadonlySet<string>;
}

/** One number of workers. */
export interface ScaleStep extends Bought<readonly Facts[]> {
  readonly workers: number;
  /** `api-worker-2, shard 3`, for each consumer that is missing. */
  readonly withoutConsumer: readonly string[];
  /** Orders that waited, and how long it took to record them; null when it took too long. */
  readonly waiting: number;
  readonly recordedMs: number | null;
  /** Undefined where no worker would be left. */
  readonly killed: KilledWorker | undefined;
}

export function judgeScaleOut(steps: readonly ScaleStep[]): Judged {
  const wrong = { broken: steps.flatMap(violations), missing: steps.flatMap(missingParts) };
  const { figures, ...judged } = judgeUnderFire(steps, wrong);
  const { accepted = 0, recorded = 0, lost = 0, usersWithTwoOrders = 0 } = figures;
  const own = Object.fromEntries(steps.flatMap(figuresOf));
  return { ...judged, figures: { ...own, accepted, recorded, lost, usersWithTwoOrders } };
}

const nameOf = ({ workers }: ScaleStep): Bilingual => ({
  en: workers === 1 ? '1 worker' : `${workers} workers`,
  zh: `${workers} 个消费者`,
});

function violations(step: ScaleStep): Bilingual[] {
  const { withoutConsumer, waiting, recordedMs, killed } = step;
  return allOfName(nameOf(step), [
    ...withoutConsumer.map((each) =>
      ofName({ en: 'no consumer of its own', zh: '没有自己的消费组成员' }, each),
    ),
    unless(recordedMs !== null, {
      en: `${waiting} orders that waited were not recorded`,
      zh: `排队的 ${waiting} 个订单没有入库`,
    }),
    ...(killed ? notTakenOver(killed) : []),
  ]);
}

function notTakenOver({ worker, inHand, claimedMs, recordedByOthers }: KilledWorker): Found[] {
  const left = inHand.flat().filter((id) => !recordedByOthers.has(id)).length;
  return [
    unless(claimedMs !== null, {
      en: `orders of ${worker} were never claimed`,
      zh: `${worker} 的订单一直没有人认领`,
    }),
    noneOf(left, {
      en: `orders that ${worker} had were recorded by no other worker`,
      zh: `${worker} 手里、别的消费者没有入库的订单`,
    }),
  ];
}

/** Without these, nothing could have gone wrong. */
function missingParts(step: ScaleStep): Bilingual[] {
  const { killed, waiting, workers } = step;
  const { worker = '', inHand = [], recordedBefore = 0 } = killed ?? {};
  const isOfAll = inHand.every((orders) => orders.length > 0);
  return allOfName(nameOf(step), [
    unless(waiting > 0, { en: 'no order waited', zh: '没有订单排队' }),
    unless(workers === 1 || !!killed, { en: 'no worker was killed', zh: '没有消费者被杀' }),
    unless(isOfAll, {
      en: `${worker} had no order of a shard in hand`,
      zh: `${worker} 手里没有某个分片的订单`,
    }),
    unless(recordedBefore === 0, {
      en: `MySQL had ${recordedBefore} of the orders in hand already`,
      zh: `手里的订单，MySQL 已经有 ${recordedBefore} 个`,
    }),
  ]);
}

function figuresOf(step: ScaleStep): [string, number][] {
  const { waiting, recordedMs, killed } = step;
  const figures: [string, number][] = [];
  if (recordedMs !== null)
    figures.push(['recorded per second', (waiting * 1_000) / Math.max(1, recordedMs)]);
  if (killed) figures.push(['in hand at the kill', killed.inHand.flat().length]);
  if (killed && killed.claimedMs !== null) figures.push(['claimed after ms', killed.claimedMs]);
  return figures.map(([name, value]) => [`${nameOf(step).en}, ${name}`, value]);
}

/** How many consumers have asked for orders; those of other queues with a group, too. */
export async function readers(connections: Connections): Promise<number> {
  const clients = String(await connections.redis('admin').client('LIST')).split('\n');
  return clients.filter((line) => / name=consumer .* cmd=xreadgroup /.test(line)).length;
}

/**
 * For each shard, in their order: the names of the consumers of this process. Redis knows a
 * consumer once it has had an order.
 */
export const ownConsumers = (connections: Connections, pid: number): Promise<string[][]> =>
  ofEachShard(connections, (redis, shard) => namesOf(redis, shard, pid));

/** For each shard, in their order: the orders that are pending for this process. */
export const ordersInHand = (connections: Connections, pid: number): Promise<Order[][]> =>
  ofEachShard(connections, (redis, shard) => pendingFor(redis, shard, pid));

function ofEachShard<T>(
  connections: Connections,
  read: (redis: Redis, shard: ShardKeys) => Promise<T>,
): Promise<T[]> {
  const redis = connections.redis('admin');
  return Promise.all(connections.saleKeys.shards.map((shard) => read(redis, shard)));
}

/** None where no worker reads: the first one makes the group. */
async function namesOf(redis: Redis, { orders }: ShardKeys, pid: number): Promise<string[]> {
  const consumers = await redis.xinfo('CONSUMERS', orders, orderGroup).catch((error: Error) => {
    if (error.message.startsWith('NOGROUP')) return [];
    throw error;
  });
  const names = (consumers as string[][]).map((fields) => fields[fields.indexOf('name') + 1] ?? '');
  return names.filter((name) => name.startsWith(consumersOf(pid)));
}

async function pendingFor(redis: Redis, shard: ShardKeys, pid: number): Promise<Order[]> {
  const { orders } = shard;
  const names = await namesOf(redis, shard, pid);
  const pending = await Promise.all(
    names.map((name) => redis.xpending(orders, orderGroup, '-', '+', pendingMax, name)),
  );
  const ids = (pending.flat() as [id: string][]).map(([id]) => id);
  const entries = await Promise.all(ids.map((id) => redis.xrange(orders, id, id)));
  return entries.flat().flatMap(([, fields]) => ordersOfEntry(fields));
}

const pendingMax = 1_000;
