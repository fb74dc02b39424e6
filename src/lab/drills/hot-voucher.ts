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
import { instanceNames } from '../environment/servers/service.ts';
import { killServer } from '../faults/process.ts';
import { sum } from '../stage/counts.ts';
import type { Judged } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import {
  byBucket,
  onePurchaseEach,
  type Purchase,
  type Try,
} from '../workload/steady-purchases.ts';
import { type Drill, repeatedSales } from './drill.ts';
import { type Found, noneOf, unless } from './expectations.ts';
import { answeredAt, firstSent, inOrder, isSale } from './try-times.ts';
import {
  boughtOf,
  judgeUnderFire,
  killsInTurn,
  type Sale,
  shapeUnderFire,
  underFire,
} from './under-fire.ts';

const rung = 'lua-buckets';
/** Declared by the voucher: whatever the service is configured for. */
const buckets = 4;
const stock = 240;
/** Little more than the stock, so that every unit left behind would turn a user away. */
const users = 248;
const withinMs = 30_000;
/** Kills while the others sell: a process that dies again and again is started ever later. */
const killsBeside = 2;

/** Where the transfer is cut: after units were taken out, and after they were put in. */
const cuts = ['lent', 'put'] as const;
type Cut = (typeof cuts)[number];

export const hotVoucher: Drill = {
  about: {
    en: 'instances die while the buckets of a hot voucher lend each other their last units',
    zh: '热门券的分桶互相借出最后几张时，实例死去',
  },
  takesMinutes: 1,
  async play(stage, options) {
    await stage.serve(shapeUnderFire);
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
  const instances = instanceNames(stage.lab.shape);
  const deaths = killsInTurn(instances, seed, { afterMs: 500, forMs: 0 }, killsBeside);
  const { kinds } = await underFire(stage, [deaths], () => buy(stage, rest));
  return {
    ...(await boughtOf(stage, voucherId, purchases)),
    isCut,
    end: await stockOf(stage, voucherId),
    demands: perBucket.map((each) => each.length),
    kills: kinds.length + instances.length,
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

export interface HotSale extends Sale {
  /** What its buckets had when all was drained. */
  readonly end: StockOfBuckets;
  /** How many users each bucket had. */
  readonly demands: readonly number[];
  /** Whether a transfer was half-way when the instances were killed. */
  readonly isCut: boolean;
  readonly kills: number;
}

export function judgeHotVoucher(sales: readonly HotSale[]): Judged {
  const figures = bucketFigures(sales);
  const broken = [
    noneOf(figures.oversold, {
      en: 'units were sold that did not exist',
      zh: '卖出了不存在的库存',
    }),
    noneOf(figures.stranded, {
      en: 'units were stranded, and users were told "sold out"',
      zh: '库存滞留，用户却被告知“售罄”',
    }),
    noneOf(figures.soldOutWrongly, {
      en: 'users were told "sold out" while a bucket had some',
      zh: '还有分桶有库存，却被告知“售罄”的用户',
    }),
  ];
  return {
    ...judgeUnderFire(sales, { broken, missing: missing(sales), figures }),
    faults: { 'kill instance': sum(sales.map(({ kills }) => kills)) },
  };
}

/** What a run of stock ended with. */
export type EndOfStock = Pick<HotSale, 'tries' | 'facts' | 'end' | 'demands'>;

export function endFigures(sales: readonly EndOfStock[]) {
  const all = (of: (sale: EndOfStock) => number) => sum(sales.map(of));
  return {
    oversold: all(({ facts }) => Math.max(0, -facts.mysql.stock)),
    /** Units that were not sold, by Redis or by MySQL, and a user was told "sold out". */
    stranded: all(stranded),
    /** Answers "sold out" although a purchase that was sent later was sold. */
    soldOutWrongly: all(({ tries }) => soldOutWrongly(tries)),
    /** Answers `not-ready`: stock moved, or the service was away. Their clients tried again. */
    askedToRetry: all(({ tries }) => tries.filter(isFor('not-ready')).length),
    transfers: all(({ end }) => end.transfers),
    /** What the same users would have left in the buckets, if no bucket lent. */
    strandedWithoutLending: all(strandedWithoutLending),
  };
}

export type EndFigures = ReturnType<typeof endFigures>;

export const bucketFigures = (sales: readonly HotSale[]) => ({
  ...endFigures(sales),
  transfersCut: sales.filter(({ isCut }) => isCut).length,
});

const isFor =
  (reason: string) =>
  (each: Try): boolean =>
    each.reason === reason;

/** Redis may not know of units that it lost, and MySQL has every unit that nobody bought. */
const stranded = ({ tries, end, facts }: EndOfStock): number =>
  Math.min(Math.max(end.stock ?? 0, facts.mysql.stock), tries.filter(isFor('sold-out')).length);

/** A request whose answer was lost may have bought: its repetition is answered with that order. */
function soldOutWrongly(tries: readonly Try[]): number {
  const first = firstSent(tries.filter(({ outcome }) => outcome !== 'refused'));
  const sales = tries.filter(isSale).map(({ requestId }) => first.get(requestId) ?? 0n);
  const lastSale = inOrder(sales).at(-1) ?? 0n;
  return tries.filter((each) => isFor('sold-out')(each) && answeredAt(each) <= lastSale).length;
}

function strandedWithoutLending({ facts, demands }: EndOfStock): number {
  const share = facts.initialStock / demands.length;
  return Math.round(sum(demands.map((demand) => Math.max(0, share - demand))));
}

/** Without these, nothing could have gone wrong. */
function missing(sales: readonly HotSale[]): Found[] {
  const uncut = sales.filter(({ isCut }) => !isCut).length;
  const unsold = sales.filter(({ tries }) => !tries.some(isFor('sold-out'))).length;
  return [
    unless(uncut === 0, {
      en: `in ${uncut} sales no transfer was cut`,
      zh: `有 ${uncut} 场秒杀，没有调拨被打断`,
    }),
    noneOf(unsold, { en: 'vouchers did not sell out', zh: '没有卖完的券' }),
  ];
}
