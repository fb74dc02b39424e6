/**
 * The end of stock of a hot voucher in buckets, while instances are killed. In each sale one
 * transfer between two buckets is cut at a named place: a bucket is sold out, its next buyer is
 * paused while it borrows, and every instance is killed. Then the other users come, and instances
 * go on dying.
 */
import {
  type StockOfBuckets,
  stockOfBuckets,
} from '../../service/inventory/shared/bucket-stock.ts';
import { instanceNames, type ServiceShape } from '../environment/servers/service.ts';
import { killServer } from '../faults/process.ts';
import type { Stage } from '../stage/stage.ts';
import { byBucket } from '../workload/by-bucket.ts';
import { onePurchaseEach, type Purchase, type Try } from '../workload/steady-purchases.ts';
import { type Drill, repeatedSales } from './drill.ts';
import { type HotSale, judgeHotVoucher } from './hot-voucher-figures.ts';
import { playStorm, type StormFault } from './storm-faults.ts';

const rung = 'lua-buckets';
/** Declared by the voucher: whatever the service is configured for. */
const buckets = 4;
const stock = 240;
/** Little more than the stock, so that every unit left behind would turn a user away. */
const users = 248;
const withinMs = 30_000;

/** Where the transfer is cut: after units were taken out, and after they were put in. */
const cuts = ['lent', 'put'] as const;
type Cut = (typeof cuts)[number];

export const hotShape: ServiceShape = {
  ...{ instances: 4, balancer: 'nginx' },
  settings: { ORDER_WORKERS: '2' }, // With a history: a request can be paused only then.
};

export const hotVoucher: Drill = {
  about: {
    en: 'instances die while the buckets of a hot voucher lend each other their last units',
    zh: '热门券的分桶互相借出最后几张时，实例死去',
  },
  takesMinutes: 1,
  async play(stage, options) {
    await stage.serve(hotShape);
    const playNext = (number: number, seed: number) =>
      playSale(stage, cuts[number % cuts.length] as Cut, seed);
    return judgeHotVoucher(await repeatedSales(options, cuts.length, playNext));
  },
};

async function playSale(stage: Stage, cut: Cut, seed: number): Promise<HotSale> {
  const { connections } = stage;
  const sale = { title: `hot-voucher, seed ${seed}`, stock, rung, buckets };
  const voucherId = await stage.putOnSale(sale);
  const purchases = planSale(voucherId, seed);
  const perBucket = byBucket(connections.saleKeys, purchases, buckets);
  const share = stock / perBucket.length;
  const [first = []] = perBucket.toSorted((one, other) => other.length - one.length);
  await buy(stage, first.slice(0, share));
  const [borrower] = first.slice(share);
  const isCut = borrower ? await cutTransfer(stage, borrower, cut) : false;
  const rest = purchases.filter((each) => !first.slice(0, share).includes(each));
  const kills = await buyUnderKills(stage, rest, seed);
  const facts = await stage.facts(voucherId);
  return {
    ...{ purchases, facts, isCut },
    tries: stage.triesOf(voucherId),
    end: await stockOf(stage, voucherId),
    demands: perBucket.map((each) => each.length),
    kills: kills + instanceNames(stage.lab.shape).length,
  };
}

/** Other users in each sale, so that the buckets are wanted unequally in another way. */
const planSale = (voucherId: string, seed: number): Purchase[] =>
  onePurchaseEach(voucherId, 'hot', users, seed * 1_000 + 1);

const buy = (stage: Stage, purchases: readonly Purchase[]): Promise<readonly Try[]> =>
  stage.sell({ name: rung, perSecond: 150, purchases, finishWithinMs: withinMs });

const stockOf = ({ connections }: Stage, voucherId: string): Promise<StockOfBuckets> =>
  stockOfBuckets(connections.redis('admin'), connections.saleKeys, voucherId, buckets);

/** Its buyer repeats the request later. @returns whether the transfer is half-way now. */
async function cutTransfer(stage: Stage, borrower: Purchase, cut: Cut): Promise<boolean> {
  const { voucherId } = borrower;
  const headers = { 'x-lab-pauses': `${cut}:1:${withinMs}` };
  const asking = stage.buy(borrower, { headers });
  const isThere = async () => {
    const { open, inTransit } = await stockOf(stage, voucherId);
    return open.length === 1 && (cut === 'put' || inTransit > 0);
  };
  const isPut = async () => (await stockOf(stage, voucherId)).inTransit === 0;
  await stage.until('a transfer', withinMs, isThere);
  if (cut === 'put') await stage.until('its put', withinMs, isPut);
  await killAll(stage);
  const half = await isThere();
  await asking;
  return half;
}

async function killAll(stage: Stage): Promise<void> {
  const names = instanceNames(stage.lab.shape);
  const undos = await Promise.all(names.map((name) => stage.inject(killServer(name))));
  for (const undo of undos) await undo();
  await stage.lab.heal(); // Every instance answers again.
}

/** @returns how many kills there were. */
async function buyUnderKills(
  stage: Stage,
  rest: readonly Purchase[],
  seed: number,
): Promise<number> {
  const over = new AbortController();
  const storm = playStorm(stage, kills(instanceNames(stage.lab.shape), seed), over.signal);
  const buying = buy(stage, rest).finally(() => over.abort());
  const [played] = await Promise.all([storm, buying]);
  await stage.lab.heal();
  return played.length;
}

/** Of two, while the others sell: a process that dies again and again is started ever later. */
function* kills(instances: readonly string[], seed: number): Generator<StormFault> {
  for (let turn = seed; turn < seed + 2; turn++) {
    const fault = killServer(instances[turn % instances.length] ?? '');
    yield { fault, kind: 'kill instance', afterMs: 500, forMs: 0 };
  }
}
