/**
 * An operator pauses, resumes and changes a sale while instances and order workers die: one of
 * `lua-stream`, the next one of `lua-buckets`. The instance that changes the stock is killed in the
 * middle of it: before Redis has the change, or after, or while one bucket has it.
 */

import { changesOf, type VoucherChange } from '../../service/orders/change-journal.ts';
import type { VoucherEdit } from '../../service/orders/voucher-changes.ts';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import type { Bilingual } from '../../texts/texts.ts';
import { killServer } from '../faults/process.ts';
import { countBy, sum } from '../stage/counts.ts';
import type { Judged } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import { changeOnce, isChangeFinal } from '../workload/sale.ts';
import { onePurchaseEach, type Try } from '../workload/steady-purchases.ts';
import { voucherName } from './audited.ts';
import { type Drill, repeatedSales } from './drill.ts';
import { allOfName, noneOf, unless, when } from './expectations.ts';
import { answeredAt, firstSent, isSale, now } from './try-times.ts';
import {
  boughtOf,
  judgeUnderFire,
  killsInTurn,
  type Sale,
  shapeUnderFire,
  underFire,
} from './under-fire.ts';

/** Two sales have both rungs, and six sales every place. */
const sales: readonly { readonly rung: string; readonly cut: CheckpointName }[] = [
  { rung: 'lua-stream', cut: 'change-begun' },
  { rung: 'lua-buckets', cut: 'bucket-adjusted' },
  { rung: 'lua-stream', cut: 'change-applied' },
  { rung: 'lua-buckets', cut: 'change-begun' },
  { rung: 'lua-stream', cut: 'change-begun' },
  { rung: 'lua-buckets', cut: 'change-applied' },
];
const salesMin = 2;
const stock = 300;
/** More users than the last one, so that the voucher sells out. */
const stocks = { more: 400, fewer: 390, last: 360 } as const;
const users = 420;
/** So slowly that no change comes too late, although the worker that finishes it starts again. */
const perSecond = 30;
const withinMs = 30_000;

export const changedSale: Drill = {
  about: {
    en: 'an operator pauses and changes a sale while instances and workers die',
    zh: '实例和订单消费者不断宕机时，运营人员暂停并修改秒杀',
  },
  takesMinutes: 1,
  async play(stage, options) {
    await stage.serve(shapeUnderFire);
    const playNext = (number: number, seed: number) =>
      playSale(stage, sales[number % sales.length] as (typeof sales)[number], seed);
    return judgeChangedSale(await repeatedSales(options, salesMin, playNext));
  },
};

async function playSale(
  stage: Stage,
  { rung, cut }: (typeof sales)[number],
  seed: number,
): Promise<ChangedSale> {
  const voucherId = await stage.putOnSale({ title: `changed-sale, seed ${seed}`, stock, rung });
  const purchases = onePurchaseEach(voucherId, 'changed', users, seed * 1_000 + 1);
  const load = { name: rung, perSecond, purchases, finishWithinMs: 2 * withinMs };
  let cutChanges = 0;
  const cutStock = async (wanted: number) => {
    if (await cutChange(stage, voucherId, { stock: wanted }, cut)) cutChanges += 1;
  };
  const { done: pauses, kinds } = await stage.during(load, () =>
    underFire(stage, [killsInTurn(killed, seed, killTimes)], async () => {
      const first = await pauseFor(stage, voucherId, () => stage.rest(500));
      await cutStock(stocks.more);
      await untilAnswered(stage, voucherId, { stock: stocks.fewer });
      const second = await pauseFor(stage, voucherId, () => cutStock(stocks.last));
      return [first, second];
    }),
  );
  const refused = await untilAnswered(stage, voucherId, { stock: 1 });
  return {
    ...(await boughtOf(stage, voucherId, purchases)),
    pauses,
    wantedStock: stocks.last,
    cuts: cutChanges,
    kills: kinds.length,
    isRefusedBelowSold: refused === 409,
    changes: await changesOf(stage.connections.mysql(), voucherId),
  };
}

const cutTriesMax = 5;
/** Dies by itself only in the middle of a change. */
const changer = 'api-3';

/** The two other instances go on selling. */
const killed = ['api-1', 'api-worker-1', 'api-2', 'api-worker-2'];
const killTimes = { afterMs: 400, forMs: 0 };

/** @returns when nothing was sold: from the answer to the pause, until the sale was to resume. */
async function pauseFor(
  stage: Stage,
  voucherId: string,
  work: () => Promise<void>,
): Promise<Pause> {
  await untilAnswered(stage, voucherId, { paused: true });
  const from = now();
  await work();
  const to = now();
  await untilAnswered(stage, voucherId, { paused: false });
  return { from, to };
}

/** The operator asks again while there is no final answer. @returns its status */
async function untilAnswered(stage: Stage, voucherId: string, edit: VoucherEdit): Promise<number> {
  let status = 0;
  await stage.until('the operator to be answered', withinMs, async () => {
    status = await changeOnce(stage.lab, voucherId, edit);
    return isChangeFinal(status);
  });
  return status;
}

/**
 * The instance is killed at this place; an order worker finishes the change.
 * @returns whether the change stood there when its instance died
 */
async function cutChange(
  stage: Stage,
  voucherId: string,
  edit: VoucherEdit,
  place: CheckpointName,
): Promise<boolean> {
  const { lab } = stage;
  const of = { tokenSecret: lab.tokenSecret, baseUrl: `http://127.0.0.1:${lab.portOf(changer)}` };
  const answers = () =>
    fetch(`${of.baseUrl}/readyz`)
      .then((answer) => answer.ok)
      .catch(() => false);
  await stage.until(`${changer} to answer again`, withinMs, answers);
  let isThere = false;
  // A worker may be faster than the instance, and finish the change: then it is asked for again.
  for (let times = 1; times <= cutTriesMax && !isThere; times++) {
    const player = stage.player();
    const unknown = { userId: '1', requestId: player.requestId('A'), latencyMs: 0 };
    player.add('A', async () => {
      await changeOnce(of, voucherId, edit, player.headers('A'));
      return { ...unknown, outcome: 'unknown' };
    });
    isThere = (await player.to('A', [place], { withinMs })).kind === 'paused';
  }
  if (isThere) await (await stage.inject(killServer(changer)))();
  await stage.until('the change to be finished', withinMs, () => isSettled(stage, voucherId));
  return isThere;
}

async function isSettled({ connections }: Stage, voucherId: string): Promise<boolean> {
  const changes = await changesOf(connections.mysql(), voucherId);
  return changes.every(({ state }) => state !== 'begun');
}

/** Moments of the clock of the tries. */
export interface Pause {
  readonly from: bigint;
  readonly to: bigint;
}

export interface ChangedSale extends Sale {
  readonly changes: readonly Pick<VoucherChange, 'state' | 'stock'>[];
  readonly pauses: readonly Pause[];
  /** What the last change of the stock asked for. */
  readonly wantedStock: number;
  /** Whether a stock below what is sold was refused. */
  readonly isRefusedBelowSold: boolean;
  /** Changes whose instance died at the named place. */
  readonly cuts: number;
  readonly kills: number;
}

/** Each sale has two, or the drill proves nothing about a change that a process left. */
const cutsOfSale = 2;
const isPaused = ({ reason }: Try): boolean => reason === 'sale-paused';

export function judgeChangedSale(sales: readonly ChangedSale[]): Judged {
  const count = (of: (sale: ChangedSale) => number) => sum(sales.map(of));
  const states = countBy(sales.flatMap(({ changes }) => changes.map(({ state }) => state)));
  const figures = {
    changesDone: states['done'] ?? 0,
    changesRefused: states['refused'] ?? 0,
    changesUnfinished: states['begun'] ?? 0,
    changesCut: count(({ cuts }) => cuts),
    soldWhilePaused: count((sale) => soldWhilePaused(sale).length),
    askedToWait: count(({ tries }) => tries.filter(isPaused).length),
  };
  const wrong = { broken: sales.flatMap(wrongChanges), missing: sales.flatMap(missing) };
  return {
    ...judgeUnderFire(sales, { ...wrong, figures, alsoExpected: ['sale-paused'] }),
    faults: { kill: count(({ kills, cuts }) => kills + cuts) },
  };
}

/** Purchases whose first request was sent after a pause was answered, and sold before it ended. */
function soldWhilePaused({ tries, pauses }: ChangedSale): Try[] {
  const first = firstSent(tries);
  const isWithin = (each: Try) => (pause: Pause) =>
    (first.get(each.requestId) ?? 0n) > pause.from && answeredAt(each) < pause.to;
  return tries.filter((each) => isSale(each) && pauses.some(isWithin(each)));
}

function wrongChanges(sale: ChangedSale): Bilingual[] {
  const { facts, wantedStock, changes, isRefusedBelowSold } = sale;
  const stock = facts.initialStock;
  const unfinished = changes.filter(({ state }) => state === 'begun').length;
  return allOfName(voucherName(facts), [
    noneOf(soldWhilePaused(sale).length, {
      en: 'purchases were sold while the sale was paused',
      zh: '暂停期间买到的下单',
    }),
    noneOf(unfinished, { en: 'changes were never finished', zh: '一直没有完成的修改' }),
    unless(stock === wantedStock || isTooLate(sale), {
      en: `the stock is ${stock}, and the operator set ${wantedStock}`,
      zh: `库存是 ${stock}，运营人员设的是 ${wantedStock}`,
    }),
    unless(isRefusedBelowSold, {
      en: 'a stock below what is sold was not refused',
      zh: '库存改得比已卖出的还少，没有被拒绝',
    }),
  ]);
}

/** On a slow machine the last change may come when more is sold: the service refuses it rightly. */
const isTooLate = ({ facts, wantedStock, changes }: ChangedSale): boolean =>
  facts.mysql.orders.length > wantedStock &&
  changes.some(({ state, stock }) => state === 'refused' && stock === wantedStock);

/** Without these, nothing could have gone wrong. */
function missing(sale: ChangedSale): Bilingual[] {
  const { facts, cuts, tries, kills, wantedStock } = sale;
  const isSoldOut = tries.some(({ reason }) => reason === 'sold-out');
  return allOfName(voucherName(facts), [
    when(isTooLate(sale), {
      en: `a stock of ${wantedStock} came after more was sold`,
      zh: `库存改为 ${wantedStock} 时，卖出的已经更多`,
    }),
    unless(cuts >= cutsOfSale, {
      en: `${cuts} of ${cutsOfSale} changes were cut`,
      zh: `${cutsOfSale} 次修改里只打断了 ${cuts} 次`,
    }),
    unless(tries.some(isPaused), {
      en: 'nobody asked while it was paused',
      zh: '暂停期间没有人下单',
    }),
    unless(isSoldOut, { en: 'nobody was told "sold out"', zh: '没有人被告知“售罄”' }),
    unless(kills > 0, {
      en: 'nothing was killed beside the changes',
      zh: '修改期间什么也没有被杀',
    }),
  ]);
}
