/**
 * The stock of a voucher in buckets is changed while they sell and lend: both stores have the new
 * number at the end, wherever a process died, and nothing is sold that MySQL would refuse.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import type { Connections } from '../../src/connections/connections.ts';
import { agreeOnEpoch } from '../../src/connections/epoch.ts';
import { select } from '../../src/connections/mysql.ts';
import type { ShardKeys } from '../../src/connections/sale-keys.ts';
import { loadScript, runScript } from '../../src/connections/scripts.ts';
import { reopensAfterMs, type Voucher } from '../../src/domain.ts';
import type { Inventory } from '../../src/inventory/inventory.ts';
import { luaBuckets } from '../../src/inventory/lua-buckets.ts';
import { stockOfBuckets } from '../../src/inventory/shared/bucket-stock.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { freeLease } from '../../src/locks/none.ts';
import { rebuild } from '../../src/orders/reconcile/rebuild.ts';
import { reconcile } from '../../src/orders/reconcile/reconcile.ts';
import {
  changeSale,
  changesOf,
  finishChanges,
  type VoucherEdit,
} from '../../src/orders/voucher-changes.ts';
import { openVouchers } from '../../src/purchase/vouchers.ts';
import { quiet } from '../support/connections.ts';
import { dieAt } from '../support/dying-change.ts';
import { openProcess, ownStores } from '../support/own-stores.ts';
import { someOrder } from '../support/sale.ts';
import { inMysql, usersUpTo, workUntilEmpty } from '../support/selling.ts';

const stock = 40;
const count = 4;
const hourMs = 3_600_000;
const [holdScript, adjustScript, lendScript] = ['hold', 'adjust', 'lend'].map((name) =>
  loadScript(`buckets/${name}`),
) as [ReturnType<typeof loadScript>, ReturnType<typeof loadScript>, ReturnType<typeof loadScript>];

let connections: Connections;
let inventory: Inventory;
let voucher: Voucher;
let buckets: readonly ShardKeys[];

beforeEach(async () => {
  connections = await openProcess({ ...(await ownStores()), SALE_SHARDS: '2' });
  await agreeOnEpoch(connections, quiet);
  inventory = open();
  const [beginTime, endTime] = [new Date(Date.now() - hourMs), new Date(Date.now() + hourMs)];
  const sale = { title: 'test', stock, beginTime, endTime, rung: 'lua-buckets', buckets: count };
  voucher = await openVouchers(connections).create(sale, inventory.prepare);
  buckets = connections.saleKeys.bucketsOf(voucher.id, count);
});

/** As another process has it: it remembers nothing. */
const open = () =>
  luaBuckets(connections.redis('purchase'), connections.saleKeys, { epoch: connections.epoch });
const redis = () => connections.redis('admin');
const edit = (asked: VoucherEdit) => changeSale(connections, voucher.id, '99', asked);
const sellTo = async (user: number) =>
  inventory.sell(someOrder(voucher.id, `${user}`), voucher, freeLease);
const left = async () =>
  (await stockOfBuckets(redis(), connections.saleKeys, voucher.id, count)).stock;
const fieldsOf = (field: string) =>
  Promise.all(buckets.map((bucket) => redis().hget(bucket.voucher(voucher.id), field)));

/** @returns how many of these users were sold one. */
async function buyAs(users: readonly number[]): Promise<number> {
  const outcomes = await Promise.all(users.map(sellTo));
  return outcomes.filter(({ kind }) => kind === 'accepted').length;
}

/** Every unit is sold, and no more than that. @returns how many */
async function sellOut(from: number): Promise<number> {
  let sold = 0;
  let user = from;
  await waitUntil('the sale to be sold out', 3 * reopensAfterMs, async () => {
    sold += await buyAs(usersUpTo(10, user));
    user += 10;
    return (await left()) === 0;
  });
  return sold + (await buyAs(usersUpTo(10, user)));
}

async function expectConsistent(initial: number): Promise<void> {
  await workUntilEmpty(connections);
  const { confirmed, failed, users } = await inMysql(voucher, connections);
  expect(failed).toEqual([]);
  expect(users).toBe(confirmed.length);
  const [row] = await select(
    connections.mysql(),
    'SELECT initial_stock AS initial, stock FROM seckill_stock WHERE voucher_id = ?',
    [voucher.id],
  );
  expect(row).toEqual({ initial, stock: initial - confirmed.length });
  expect(await left()).toBe(initial - confirmed.length);
  expect(await reconcile(connections)).toMatchObject({ verdict: 'consistent' });
}

describe('the stock in buckets', () => {
  test.each([
    ['grows', 55],
    ['shrinks', 21],
  ])('%s: so many are sold as there are then', async (_, to) => {
    expect(await buyAs(usersUpTo(10))).toBe(10);
    expect(await edit({ stock: to })).toMatchObject({ state: 'done', stockBefore: stock });
    expect(await left()).toBe(to - 10);
    expect(await fieldsOf('paused')).toEqual([null, null, null, null]);
    expect(await sellOut(100)).toBe(to - 10);
    await expectConsistent(to);
  });

  test('grows after it was sold out, and nobody remembers that it was', async () => {
    expect(await sellOut(1)).toBe(stock);
    const changedAtMs = Date.now();
    await edit({ stock: stock + 7 });
    for (const reopensMs of await fieldsOf('reopensMs'))
      expect(Number(reopensMs)).toBeGreaterThanOrEqual(changedAtMs + reopensAfterMs - 100);
    expect(await fieldsOf('soldOutBy')).toEqual([null, null, null, null]);
    expect(await sellTo(5_000)).toMatchObject({ kind: 'refused', reason: 'sold-out' });
    let sold = 0;
    await waitUntil('seven more to be sold', 3 * reopensAfterMs, async () => {
      sold += await buyAs(usersUpTo(5, 6_000 + 5 * sold));
      return sold >= 7;
    });
    expect(await sellOut(9_000)).toBe(0);
    expect(sold).toBe(7);
    await expectConsistent(stock + 7);
  });

  test('shrinks to what is sold, and not below: what is refused changes nothing', async () => {
    await buyAs(usersUpTo(12));
    const before = await fieldsOf('stock');
    await expect(edit({ stock: 11 })).rejects.toThrow('12 are sold, and a stock of 11 is less');
    expect(await fieldsOf('stock')).toEqual(before);
    expect(await buyAs([100])).toBe(1);
    await edit({ paused: true });
    await expect(edit({ stock: 12 })).rejects.toThrow('13 are sold');
    expect(await fieldsOf('paused')).toEqual(['1', '1', '1', '1']);
    await edit({ paused: false, stock: 13 });
    expect(await sellTo(200)).toMatchObject({ kind: 'refused', reason: 'sold-out' });
    await expectConsistent(13);
  });

  test('is counted once while it moves: a transfer that was half-way is finished first', async () => {
    const [lender, borrower] = [buckets[0], buckets[1]] as [ShardKeys, ShardKeys];
    await redis().hincrby(borrower.voucher(voucher.id), 'stock', 0);
    const keys = [lender.voucher(voucher.id), lender.transfers(voucher.id), lender.epoch];
    const lent = await runScript(redis(), lendScript, keys, ['1', connections.epoch.value]);
    expect(lent).toEqual(['lent', '1', '5']);
    await edit({ stock: stock + 2 });
    expect(await fieldsOf('stock')).toEqual(['6', '16', '10', '10']);
    await expectConsistent(stock + 2);
  });

  test('changes again and again while many buy, and both stores have the last number', async () => {
    let user = 1;
    let isOver = false;
    const buying = (async () => {
      let sold = 0;
      while (!isOver) {
        sold += await buyAs(usersUpTo(4, user));
        user += 4;
      }
      return sold;
    })();
    for (let round = 0; round < 8; round++) {
      const asked = round % 2 === 0 ? 300 + round : 200 + round;
      await edit({ stock: asked }).catch((error: unknown) => {
        expect(String(error)).toContain('are sold');
      });
    }
    await edit({ stock: 1_000 });
    isOver = true;
    expect(1_000 - (await buying)).toBe(await left());
    await expectConsistent(1_000);
  });
});

describe('a process that dies', () => {
  const hold = 'hold:1:another-process';
  const holdIt = (bucket: ShardKeys) =>
    runScript(
      redis(),
      holdScript,
      [bucket.voucher(voucher.id), bucket.buyers(voucher.id), bucket.epoch],
      [connections.epoch.value, '1', hold],
    );
  const adjustIt = (bucket: ShardKeys, units: number, next = hold) =>
    runScript(
      redis(),
      adjustScript,
      [bucket.voucher(voucher.id), bucket.epoch],
      [connections.epoch.value, hold, String(units), String(reopensAfterMs), next],
    );

  test.each([
    ['that adds', 50, 2],
    ['that takes', 30, -2],
  ])(
    'in a change %s: the next one counts what was changed, and finishes it',
    async (_, to, units) => {
      await buyAs(usersUpTo(8));
      await dieAt('change-begun', () => edit({ stock: to }));
      for (const bucket of buckets) expect(await holdIt(bucket)).toContain('held');
      for (const bucket of buckets.slice(0, 3)) await adjustIt(bucket, units);
      expect(await sellTo(100)).toMatchObject({ kind: 'refused', reason: 'sale-paused' });
      expect(await finishChanges(connections)).toEqual([voucher.id]);
      expect(await left()).toBe(to - 8);
      expect(await fieldsOf('paused')).toEqual([null, null, null, null]);
      expect(await buyAs([100])).toBe(1);
      await expectConsistent(to);
    },
  );

  test('after it applied the change to one bucket: the others follow, and nothing is added twice', async () => {
    await dieAt('change-applied', () => edit({ stock: 50, paused: true }));
    expect(await fieldsOf('change')).toEqual(['1', '1', '1', '1']);
    const others = buckets.slice(1).map((bucket) => bucket.voucher(voucher.id));
    for (const key of others) await redis().hset(key, { paused: hold, change: '0' });
    await finishChanges(connections);
    expect(await fieldsOf('paused')).toEqual(['1', '1', '1', '1']);
    expect(await fieldsOf('change')).toEqual(['1', '1', '1', '1']);
    expect(new Set(await fieldsOf('endMs')).size).toBe(1);
    await expectConsistent(50);
  });

  test('and resumes late: it adjusts no bucket that another process holds, or has released', async () => {
    await dieAt('change-begun', () => edit({ stock: 50 }));
    const [first] = buckets as [ShardKeys];
    await holdIt(first);
    await finishChanges(connections);
    const before = await fieldsOf('stock');
    expect(await adjustIt(first, 10)).toBe('not-held');
    await edit({ stock: 60 });
    expect(await holdIt(first)).toEqual(['later-change']);
    expect(await fieldsOf('paused')).toEqual([null, null, null, null]);
    expect(before).toEqual(['13', '13', '12', '12']);
    await expectConsistent(60);
  });

  test('and Redis loses the sale: a rebuild makes it of the new stock', async () => {
    await buyAs(usersUpTo(6));
    await dieAt('change-begun', () => edit({ stock: 50 }));
    for (const bucket of buckets) await holdIt(bucket);
    await adjustIt(buckets[0] as ShardKeys, 10);
    await workUntilEmpty(connections);
    for (const bucket of buckets)
      await redis().del(bucket.voucher(voucher.id), bucket.buyers(voucher.id));
    const { epoch } = await rebuild(connections, () => {}, 0);
    connections.epoch.set(epoch);
    await finishChanges(connections);
    expect(await changesOf(connections.mysql(), voucher.id)).toMatchObject([{ state: 'done' }]);
    inventory = open();
    expect(await buyAs(usersUpTo(60, 100))).toBe(44);
    await expectConsistent(50);
  });

  test('leaves buckets that lend nothing', async () => {
    const [first] = buckets as [ShardKeys];
    await holdIt(first);
    const keys = [first.voucher(voucher.id), first.transfers(voucher.id), first.epoch];
    const answer = await runScript(redis(), lendScript, keys, ['1', connections.epoch.value]);
    expect(answer).toMatchObject(['has-stock', '0:', '']);
    expect(await fieldsOf('stock')).toEqual(['10', '10', '10', '10']);
  });
});
