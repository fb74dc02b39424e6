/**
 * The stock of a voucher in buckets is changed while they sell and lend: both stores have the new
 * number at the end, wherever a process died, and nothing is sold that MySQL would refuse.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import type { Connections } from '../../src/connections/connections.ts';
import { agreeOnEpoch } from '../../src/connections/epoch.ts';
import { select } from '../../src/connections/mysql.ts';
import { destroyConnections } from '../../src/connections/mysql-pool.ts';
import type { ShardKeys } from '../../src/connections/sale-keys.ts';
import { loadScript, runScript } from '../../src/connections/scripts.ts';
import { reopensAfterMs, type Voucher } from '../../src/domain.ts';
import type { Inventory } from '../../src/inventory/inventory.ts';
import { luaBuckets } from '../../src/inventory/lua-buckets.ts';
import { stockOfBuckets } from '../../src/inventory/shared/bucket-stock.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { freeLease } from '../../src/locks/none.ts';
import { changesOf } from '../../src/orders/change-journal.ts';
import { rebuild } from '../../src/orders/reconcile/rebuild.ts';
import { reconcile } from '../../src/orders/reconcile/reconcile.ts';
import { repair } from '../../src/orders/reconcile/repair.ts';
import { changeSale, finishChanges, type VoucherEdit } from '../../src/orders/voucher-changes.ts';
import { openVouchers } from '../../src/purchase/vouchers.ts';
import { quiet } from '../support/connections.ts';
import { dieAt } from '../support/dying-change.ts';
import { type OwnStores, openProcess, ownStores } from '../support/own-stores.ts';
import { someOrder } from '../support/sale.ts';
import { inMysql, usersUpTo, workUntilEmpty } from '../support/selling.ts';

const stock = 40;
const count = 4;
const hourMs = 3_600_000;
const [holdScript, adjustScript, lendScript] = ['hold', 'adjust', 'lend'].map((name) =>
  loadScript(`buckets/${name}`),
) as [ReturnType<typeof loadScript>, ReturnType<typeof loadScript>, ReturnType<typeof loadScript>];

let stores: OwnStores & { readonly SALE_SHARDS: string };
let connections: Connections;
let inventory: Inventory;
let voucher: Voucher;
let buckets: readonly ShardKeys[];

beforeEach(async () => {
  stores = { ...(await ownStores()), SALE_SHARDS: '2' };
  connections = await openProcess(stores);
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
    expect(await fieldsOf('hold')).toEqual([null, null, null, null]);
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

test('stock is added to buckets that sell, and a bucket that lends nothing yet gets none', async () => {
  const [first] = buckets as [ShardKeys];
  await redis().hset(first.voucher(voucher.id), 'stock', '0');
  await redis().hset((buckets[1] as ShardKeys).voucher(voucher.id), 'stock', '20');
  await edit({ stock: stock + 6 });
  expect(await fieldsOf('stock')).toEqual(['0', '22', '12', '12']);
  expect(await fieldsOf('reopensMs')).toEqual([null, null, null, null]);
});

test('a bucket whose last units are taken has a new name for its state', async () => {
  await edit({ stock: 35 });
  expect(await fieldsOf('stock')).toEqual(['5', '10', '10', '10']);
  await edit({ stock: 25 });
  expect(await fieldsOf('stock')).toEqual(['0', '5', '10', '10']);
  expect((await fieldsOf('soldOutBy'))[0]).toMatch(/^[0-9a-f-]{36}$/);
});

const holdOf = (bucket: ShardKeys, number = '1', hold = 'another', forMs = '2000') =>
  runScript(
    redis(),
    holdScript,
    [bucket.voucher(voucher.id), bucket.buyers(voucher.id), bucket.epoch],
    [connections.epoch.value, number, '', number, hold, forMs],
  ) as Promise<string[]>;
const adjustOf = (bucket: ShardKeys, units: number, hold = 'another') =>
  runScript(
    redis(),
    adjustScript,
    [bucket.voucher(voucher.id), bucket.epoch],
    [connections.epoch.value, hold, String(units), String(reopensAfterMs), '', '', '', ''],
  );
const notHeld = async () => {
  const untilMs = (await fieldsOf('heldUntilMs')).map(Number);
  return untilMs.every((each) => each <= Date.now());
};

/** In a change to 20 units: it took three, and then the 21st is sold, so the change is refused. */
async function dieAfterTaking(): Promise<void> {
  await buyAs(usersUpTo(20));
  await dieAt('change-begun', () => edit({ stock: 20 }));
  for (const bucket of buckets) await holdOf(bucket);
  await adjustOf(buckets[0] as ShardKeys, -3);
  await waitUntil('the holds to end', 10_000, notHeld);
  expect(await buyAs([100])).toBe(1);
}

describe('a bucket that is held', () => {
  test('sells and lends nothing, says so truly, and sells again by itself', async () => {
    for (const bucket of buckets) expect(await holdOf(bucket)).toEqual(['held', '10', '0', '']);
    const refused = await sellTo(1);
    expect(refused).toMatchObject({ kind: 'refused', reason: 'not-ready' });
    const [first] = buckets as [ShardKeys];
    const keys = [first.voucher(voucher.id), first.transfers(voucher.id), first.epoch];
    const answer = await runScript(redis(), lendScript, keys, ['1', connections.epoch.value]);
    expect(answer).toMatchObject(['has-stock', '0:', '']);
    await waitUntil('the holds to end', 10_000, notHeld);
    expect(await sellTo(1)).toMatchObject({ kind: 'accepted' });
    expect(await left()).toBe(stock - 1);
  });

  test('is changed by its own hold only, while it lasts', async () => {
    const [first] = buckets as [ShardKeys];
    await holdOf(first, '1', 'own', '1');
    await waitUntil('the hold to end', 10_000, notHeld);
    expect(await adjustOf(first, 1, 'own')).toBe('not-held');
    expect(await holdOf(first, '1', 'own', '')).toEqual(['not-held']);
    await holdOf(first, '1', 'own');
    await holdOf(first, '1', 'another');
    expect(await adjustOf(first, 1, 'own')).toBe('not-held');
    expect(await holdOf(first, '1', 'own', '')).toEqual(['not-held']);
    expect(await adjustOf(first, 1)).toBe('adjusted');
    expect(await holdOf(first, '1', 'another', '')).toEqual(['held', '11', '0', '']);
  });
});

describe('a process that dies in a change', () => {
  test.each([
    ['that adds', 50, 2],
    ['that takes', 30, -2],
  ])('%s: the next one counts what was changed, and finishes it', async (_, to, units) => {
    await buyAs(usersUpTo(8));
    await dieAt('change-begun', () => edit({ stock: to }));
    for (const bucket of buckets) expect(await holdOf(bucket)).toContain('held');
    for (const bucket of buckets.slice(0, 3)) await adjustOf(bucket, units);
    expect(await finishChanges(connections)).toEqual([voucher.id]);
    expect(await left()).toBe(to - 8);
    expect(await fieldsOf('hold')).toEqual([null, null, null, null]);
    expect(await buyAs([100])).toBe(1);
    await expectConsistent(to);
  });

  test('after one bucket refused the change: the others refuse it too, although a unit came back', async () => {
    await buyAs(usersUpTo(20));
    await dieAt('change-begun', () => edit({ stock: 20 }));
    const [first] = buckets as [ShardKeys];
    await redis().hset(first.voucher(voucher.id), { change: '1', refused: '21' });
    await finishChanges(connections);
    expect(await fieldsOf('refused')).toEqual(['21', '21', '21', '21']);
    expect(await changesOf(connections.mysql(), voucher.id)).toMatchObject([
      { state: 'refused', sold: 21 },
    ]);
    await edit({ stock: 30 });
    expect(await fieldsOf('refused')).toEqual([null, null, null, null]);
    await expectConsistent(30);
  });

  test('that is refused later: what it took comes back', async () => {
    await dieAfterTaking();
    await finishChanges(connections);
    expect(await changesOf(connections.mysql(), voucher.id)).toMatchObject([
      { state: 'refused', sold: 21 },
    ]);
    expect(await fieldsOf('hold')).toEqual([null, null, null, null]);
    await expectConsistent(stock);
  });

  test('after it applied the change to one bucket: the others follow, and nothing is added twice', async () => {
    await dieAt('change-applied', () => edit({ stock: 50, paused: true, endTime: 'now' }));
    const endMs = await fieldsOf('endMs');
    const others = buckets.slice(1).map((bucket) => bucket.voucher(voucher.id));
    for (const key of others) await redis().hset(key, { change: '0', endMs: '9999999999999' });
    await redis().hdel(others[0] ?? '', 'paused');
    await finishChanges(connections);
    expect(await fieldsOf('paused')).toEqual(['1', '1', '1', '1']);
    expect(await fieldsOf('change')).toEqual(['1', '1', '1', '1']);
    expect(await fieldsOf('endMs')).toEqual(endMs);
    await expectConsistent(50);
  });

  test('of one voucher: the changes of the others are finished', async () => {
    await dieAt('change-begun', () => edit({ stock: 50 }));
    const other = await openVouchers(connections).create(
      { ...voucher, title: 'other' },
      inventory.prepare,
    );
    await dieAt('change-begun', () => changeSale(connections, other.id, '99', { stock: 50 }));
    await redis().hset((buckets[0] as ShardKeys).voucher(voucher.id), 'stock', 'damaged');
    expect(await finishChanges(connections)).toEqual([other.id]);
    await redis().hset((buckets[0] as ShardKeys).voucher(voucher.id), 'stock', '10');
    await redis().del((buckets[0] as ShardKeys).transfers(voucher.id));
    await redis().set((buckets[0] as ShardKeys).transfers(voucher.id), 'damaged');
    await dieAt('change-begun', () => changeSale(connections, other.id, '99', { stock: 60 }));
    await expect(finishChanges(connections)).rejects.toThrow('WRONGTYPE');
    expect(await changesOf(connections.mysql(), other.id)).toMatchObject([
      ...[{ state: 'done' }, { state: 'done' }],
    ]);
  });

  test('and Redis loses the sale: a rebuild makes it of the new stock', async () => {
    await buyAs(usersUpTo(6));
    await dieAt('change-begun', () => edit({ stock: 50 }));
    for (const bucket of buckets) await holdOf(bucket);
    await adjustOf(buckets[0] as ShardKeys, 10);
    await workUntilEmpty(connections);
    for (const bucket of buckets.slice(1))
      await redis().del(bucket.voucher(voucher.id), bucket.buyers(voucher.id));
    const { epoch } = await rebuild(connections, () => {}, 0);
    connections.epoch.set(epoch);
    await finishChanges(connections);
    expect(await changesOf(connections.mysql(), voucher.id)).toMatchObject([{ state: 'done' }]);
    expect(await fieldsOf('hold')).toEqual([null, null, null, null]);
    inventory = open();
    expect(await buyAs(usersUpTo(60, 100))).toBe(44);
    await expectConsistent(50);
  });
});

/**
 * A process that changes the stock and stands still before its n-th script in Redis. `resume` lets
 * it go on, and resolves when it has ended.
 * @param keepsMysql otherwise MySQL has given up its connection by then
 */
async function standsStillBefore(call: number, asked: VoucherEdit, keepsMysql = false) {
  const stale = await openProcess(stores);
  stale.epoch.set(connections.epoch.value);
  const client = stale.redis('admin');
  const send = client.evalsha.bind(client);
  let calls = 0;
  let resume = () => {};
  const resumed = new Promise<void>((resolve) => {
    resume = resolve;
  });
  const isThere = new Promise<void>((resolve) => {
    client.evalsha = (async (...args: Parameters<typeof send>) => {
      calls += 1;
      if (calls === call) {
        resolve();
        await resumed;
      }
      return send(...args);
    }) as typeof client.evalsha;
  });
  const change = changeSale(stale, voucher.id, '98', asked).catch((error: unknown) => error);
  await Promise.race([isThere, change]);
  if (!keepsMysql) destroyConnections(stale.mysql(), new Error('the process stands still'));
  return {
    isStopped: calls >= call,
    resume: async () => {
      resume();
      await change;
    },
  };
}

const finished = () =>
  waitUntil('the change to be finished', 20_000, async () => {
    await finishChanges(connections).catch(() => {});
    const changes = await changesOf(connections.mysql(), voucher.id);
    return changes.every(({ state }) => state === 'done');
  });

describe.each([
  ['adds', 50],
  ['takes', 30],
])('a process that stands still while it %s stock', (_, to) => {
  // 4 buckets: held by 1 to 4, looked at for transfers by 5 to 8, counted by 9 to 12, adjusted by
  // 13 to 16, and the change is applied by 17 to 20.
  test.each([1, 3, 6, 9, 11, 13, 15, 17, 18, 20])(
    'and goes on in the middle of the next change, before its script %d: it changes nothing',
    async (call) => {
      await buyAs(usersUpTo(8));
      const stale = await standsStillBefore(call, { stock: to });
      expect(stale.isStopped).toBe(true);
      expect(await finishChanges(connections)).toEqual([voucher.id]);
      await standsStillBefore(15, { stock: 45 }); // For ever: two of its buckets are adjusted.
      await stale.resume();
      await finished();
      await waitUntil('the holds to end', 10_000, notHeld);
      await expectConsistent(45);
      expect(await sellOut(1_000)).toBe(45 - 8);
    },
  );

  test.each([9, 13])(
    'and goes on while units are on their way, before its script %d: it does not count wrongly',
    async (call) => {
      const stale = await standsStillBefore(call, { stock: to });
      expect(await finishChanges(connections)).toEqual([voucher.id]);
      const last = buckets.at(-1) as ShardKeys;
      const keys = [last.voucher(voucher.id), last.transfers(voucher.id), last.epoch];
      const [word] = (await runScript(redis(), lendScript, keys, [
        ...['1', connections.epoch.value],
      ])) as string[];
      expect(word).toBe('lent');
      await stale.resume();
      await waitUntil('the holds to end', 10_000, notHeld);
      await expectConsistent(to);
    },
  );
});

test('a process that goes on after a later change was applied holds nothing', async () => {
  const stale = await standsStillBefore(1, { stock: 50 });
  await finished();
  await edit({ stock: 45 });
  await stale.resume();
  expect(await fieldsOf('hold')).toEqual([null, null, null, null]);
  await expectConsistent(45);
});

test('a process that lost its hold before it applied its change does not apply it', async () => {
  const stale = await standsStillBefore(1, { stock: 50 });
  await finished();
  const slow = await standsStillBefore(17, { stock: 45 }, true);
  await stale.resume(); // It holds the buckets, and changes them to its own stock.
  await slow.resume();
  await finished();
  await expectConsistent(45);
});

test('a process that lost its hold before it gave back what was taken refuses nothing', async () => {
  await dieAfterTaking();
  const slow = await standsStillBefore(13, { title: 'later' }, true);
  for (const bucket of buckets) await holdOf(bucket);
  await slow.resume();
  await waitUntil('the holds to end', 10_000, notHeld);
  await finishChanges(connections);
  const [first] = await changesOf(connections.mysql(), voucher.id);
  expect(first).toMatchObject({ number: 1, state: 'refused' });
  await expectConsistent(stock);
});

test('stock that is replayed from a dead letter is not sold while its bucket is held', async () => {
  const [first] = buckets as [ShardKeys];
  await holdOf(first);
  const letter = await redis().xadd(first.dead, '*', 'reason', 'stock-short');
  const answer = await runScript(
    redis(),
    loadScript('sale/replay'),
    [
      ...[first.voucher(voucher.id), first.buyers(voucher.id), first.orders, first.queued],
      ...[first.dead, first.replayed, first.epoch],
    ],
    ['77', voucher.id, '7', 'replay:1', letter ?? '', connections.epoch.value],
  );
  expect(answer).toEqual(['reopening', '', expect.any(Number)]);
  expect(await fieldsOf('stock')).toEqual(['10', '10', '10', '10']);
});

describe('a Redis that has lost the last change', () => {
  test.each([30, 50])('gets it back, with a stock of %i, and sells on', async (to) => {
    await buyAs(usersUpTo(8));
    await workUntilEmpty(connections);
    const keys = buckets.map((bucket) => bucket.voucher(voucher.id));
    const before = await Promise.all(keys.map((key) => redis().hgetall(key)));
    await edit({ stock: to, paused: true });
    for (const [index, key] of keys.entries()) {
      await redis().del(key);
      await redis().hset(key, before[index] ?? {});
    }
    expect((await reconcile(connections)).verdict).toBe('inconsistent');
    expect((await repair(connections)).after.verdict).toBe('consistent');
    expect(await fieldsOf('paused')).toEqual(['1', '1', '1', '1']);
    expect(await fieldsOf('hold')).toEqual([null, null, null, null]);
    expect(await left()).toBe(to - 8);
    await edit({ paused: false });
    expect(await buyAs([100])).toBe(1);
    await expectConsistent(to);
  });
});

test('changes of several operators at once all take effect, and none is told of a fault', async () => {
  const processes = [connections, await openProcess(stores), await openProcess(stores)];
  for (const each of processes) each.epoch.set(connections.epoch.value);
  const wanted = usersUpTo(9, 31);
  const done = await Promise.all(
    wanted.map((to, turn) =>
      changeSale(processes[turn % 3] as Connections, voucher.id, '9', { stock: to }),
    ),
  );
  expect(done.map((each) => each?.state)).toEqual(wanted.map(() => 'done'));
  expect(done.map((each) => each?.stock).sort()).toEqual(wanted);
  const last = done.find((each) => each?.number === wanted.length);
  expect(await left()).toBe(last?.stock);
  await expectConsistent(last?.stock ?? 0);
});

test('a change that one bucket knows a later one of is refused, and changes no bucket', async () => {
  const [, second] = buckets as [ShardKeys, ShardKeys];
  await redis().hset(second.voucher(voucher.id), { change: '7', changeBegunMs: '1' });
  const asked = { stock: 30, paused: true };
  await expect(edit(asked)).rejects.toThrow('MySQL has lost its last changes');
  expect(await fieldsOf('hold')).toEqual([null, null, null, null]);
  expect(await fieldsOf('paused')).toEqual([null, null, null, null]);
  expect(await left()).toBe(stock);
  expect((await repair(connections)).after.verdict).toBe('inconsistent');
});
