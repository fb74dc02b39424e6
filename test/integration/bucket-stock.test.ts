/**
 * The stock of a voucher in buckets is changed while they sell and lend: both stores have the new
 * number at the end, wherever a process died, and nothing is sold that MySQL would refuse.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { destroyConnections } from '../../src/service/connections/mysql-pool.ts';
import type { ShardKeys } from '../../src/service/connections/sale-keys.ts';
import { loadScript, runScript } from '../../src/service/connections/scripts.ts';
import { reopensAfterMs } from '../../src/service/domain.ts';
import { reconcile } from '../../src/service/orders/reconcile/reconcile.ts';
import { repair } from '../../src/service/orders/reconcile/repair.ts';
import {
  changeSale,
  finishChanges,
  type VoucherEdit,
} from '../../src/service/orders/voucher-changes.ts';
import { dieAt, type OwnSale, ownSale } from '../support/own-sale.ts';
import { usersUpTo } from '../support/sale.ts';

const stock = 40;
let sale: OwnSale;
let first: ShardKeys;
let second: ShardKeys;

beforeEach(async () => {
  sale = await ownSale({ stock, buckets: 4 }, { SALE_SHARDS: '2' });
  [first, second] = sale.buckets as [ShardKeys, ShardKeys];
});

const fieldsOf = (field: string) =>
  Promise.all(sale.buckets.map(({ voucher }) => sale.redis.hget(voucher(sale.id), field)));
const inEach = <T>(value: T): T[] => sale.buckets.map(() => value);

/** All at once. @returns how many of these users were sold one. */
async function buyAs(users: readonly number[]): Promise<number> {
  const outcomes = await Promise.all(users.map((user) => sale.buy(user)));
  return outcomes.filter(({ kind }) => kind === 'accepted').length;
}

/** Every unit is sold, and no more than that. @returns how many */
async function sellOut(from: number): Promise<number> {
  let sold = 0;
  let user = from;
  await waitUntil('the sale to be sold out', 3 * reopensAfterMs, async () => {
    sold += await buyAs(usersUpTo(10, user));
    user += 10;
    return (await sale.stockInRedis()) === 0;
  });
  return sold + (await buyAs(usersUpTo(10, user)));
}

/** Runs a script of lua/buckets/ on keys of this bucket. */
const run = (
  name: string,
  { voucher, epoch }: ShardKeys,
  key: string | null,
  ...args: string[]
) => {
  const keys = [voucher(sale.id), ...(key === null ? [] : [key]), epoch];
  return runScript(sale.redis, loadScript(`buckets/${name}`), keys, args);
};
const epoch = () => sale.connections.epoch.value;
/** To the second bucket. */
const lend = (from: ShardKeys) => run('lend', from, from.transfers(sale.id), '1', epoch());
const holdOf = (bucket: ShardKeys, hold = 'another', forMs = '2000') =>
  run('hold', bucket, bucket.buyers(sale.id), epoch(), '1', '', '1', hold, forMs);
const adjustOf = (bucket: ShardKeys, units: number, hold = 'another') => {
  const times = [String(reopensAfterMs), '', '', '', ''];
  return run('adjust', bucket, null, epoch(), hold, String(units), ...times);
};
const untilNotHeld = () =>
  waitUntil('the holds to end', 20_000, async () => {
    const untilMs = (await fieldsOf('heldUntilMs')).map(Number);
    return untilMs.every((each) => each <= Date.now());
  });

describe('the stock in buckets', () => {
  test.each([
    ['grows', 55],
    ['shrinks', 21],
  ])('%s: so many are sold as there are then', async (_, to) => {
    expect(await buyAs(usersUpTo(10))).toBe(10);
    expect(await sale.edit({ stock: to })).toMatchObject({ state: 'done', stockBefore: stock });
    expect(await sale.stockInRedis()).toBe(to - 10);
    expect(await fieldsOf('hold')).toEqual(inEach(null));
    expect(await sellOut(100)).toBe(to - 10);
    await sale.expectConsistent(to);
  });

  test('grows after it was sold out, and nobody remembers that it was', async () => {
    expect(await sellOut(1)).toBe(stock);
    const changedAtMs = Date.now();
    await sale.edit({ stock: stock + 7 });
    for (const reopensMs of await fieldsOf('reopensMs'))
      expect(Number(reopensMs)).toBeGreaterThanOrEqual(changedAtMs + reopensAfterMs - 100);
    expect(await fieldsOf('soldOutBy')).toEqual(inEach(null));
    expect(await sale.buy(5_000)).toMatchObject({ kind: 'refused', reason: 'sold-out' });
    let sold = 0;
    await waitUntil('seven more to be sold', 3 * reopensAfterMs, async () => {
      sold += await buyAs(usersUpTo(5, 6_000 + 5 * sold));
      return sold >= 7;
    });
    expect(await sellOut(9_000)).toBe(0);
    expect(sold).toBe(7);
    await sale.expectConsistent(stock + 7);
  });

  test('shrinks to what is sold, and not below: what is refused changes nothing', async () => {
    await buyAs(usersUpTo(12));
    const before = await fieldsOf('stock');
    await expect(sale.edit({ stock: 11 })).rejects.toThrow(
      '12 are sold, and a stock of 11 is less',
    );
    expect(await fieldsOf('stock')).toEqual(before);
    expect(await buyAs([100])).toBe(1);
    await sale.edit({ paused: true });
    await expect(sale.edit({ stock: 12 })).rejects.toThrow('13 are sold');
    expect(await fieldsOf('paused')).toEqual(inEach('1'));
    await sale.edit({ paused: false, stock: 13 });
    expect(await sale.buy(200)).toMatchObject({ kind: 'refused', reason: 'sold-out' });
    await sale.expectConsistent(13);
  });

  test('is counted once while it moves: a transfer that was half-way is finished first', async () => {
    expect(await lend(first)).toEqual(['lent', '1', '5']);
    await sale.edit({ stock: stock + 2 });
    expect(await fieldsOf('stock')).toEqual(['6', '16', '10', '10']);
    await sale.expectConsistent(stock + 2);
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
      await sale.edit({ stock: asked }).catch((error: unknown) => {
        expect(String(error)).toContain('are sold');
      });
    }
    await sale.edit({ stock: 1_000 });
    isOver = true;
    expect(1_000 - (await buying)).toBe(await sale.stockInRedis());
    await sale.expectConsistent(1_000);
  });
});

test('stock is added to buckets that sell, and a bucket that lends nothing yet gets none', async () => {
  await sale.redis.hset(first.voucher(sale.id), 'stock', '0');
  await sale.redis.hset(second.voucher(sale.id), 'stock', '20');
  await sale.edit({ stock: stock + 6 });
  expect(await fieldsOf('stock')).toEqual(['0', '22', '12', '12']);
  expect(await fieldsOf('reopensMs')).toEqual(inEach(null));
});

test('a bucket whose last units are taken has a new name for its state', async () => {
  await sale.edit({ stock: 35 });
  expect(await fieldsOf('stock')).toEqual(['5', '10', '10', '10']);
  await sale.edit({ stock: 25 });
  expect(await fieldsOf('stock')).toEqual(['0', '5', '10', '10']);
  expect((await fieldsOf('soldOutBy'))[0]).toMatch(/^[0-9a-f-]{36}$/);
});

/** In a change to 20 units: it took three, and then the 21st is sold, so the change is refused. */
async function dieAfterTaking(): Promise<void> {
  await buyAs(usersUpTo(20));
  await dieAt('change-begun', () => sale.edit({ stock: 20 }));
  for (const bucket of sale.buckets) await holdOf(bucket);
  await adjustOf(first, -3);
  await untilNotHeld();
  expect(await buyAs([100])).toBe(1);
}

describe('a bucket that is held', () => {
  test('sells and lends nothing, says so truly, and sells again by itself', async () => {
    for (const bucket of sale.buckets)
      expect(await holdOf(bucket)).toEqual(['held', '10', '0', '']);
    expect(await sale.buy(1)).toMatchObject({ kind: 'refused', reason: 'not-ready' });
    expect(await lend(first)).toMatchObject(['has-stock', '0:', '']);
    await untilNotHeld();
    expect(await sale.buy(1)).toMatchObject({ kind: 'accepted' });
    expect(await sale.stockInRedis()).toBe(stock - 1);
  });

  test('is changed by its own hold only, while it lasts', async () => {
    await holdOf(first, 'own', '1');
    await untilNotHeld();
    expect(await adjustOf(first, 1, 'own')).toBe('not-held');
    expect(await holdOf(first, 'own', '')).toEqual(['not-held']);
    await holdOf(first, 'own');
    await holdOf(first, 'another');
    expect(await adjustOf(first, 1, 'own')).toBe('not-held');
    expect(await holdOf(first, 'own', '')).toEqual(['not-held']);
    expect(await adjustOf(first, 1)).toBe('adjusted');
    expect(await holdOf(first, 'another', '')).toEqual(['held', '11', '0', '']);
  });
});

describe('a process that dies in a change', () => {
  test.each([
    ['that adds', 50, 2],
    ['that takes', 30, -2],
  ])('%s: the next one counts what was changed, and finishes it', async (_, to, units) => {
    await buyAs(usersUpTo(8));
    await dieAt('change-begun', () => sale.edit({ stock: to }));
    for (const bucket of sale.buckets) expect(await holdOf(bucket)).toContain('held');
    for (const bucket of sale.buckets.slice(0, 3)) await adjustOf(bucket, units);
    expect(await finishChanges(sale.connections)).toEqual([sale.id]);
    expect(await sale.stockInRedis()).toBe(to - 8);
    expect(await fieldsOf('hold')).toEqual(inEach(null));
    expect(await buyAs([100])).toBe(1);
    await sale.expectConsistent(to);
  });

  test('after one bucket refused the change: the others refuse it too, although a unit came back', async () => {
    await buyAs(usersUpTo(20));
    await dieAt('change-begun', () => sale.edit({ stock: 20 }));
    await sale.redis.hset(first.voucher(sale.id), { change: '1', refused: '21' });
    await finishChanges(sale.connections);
    expect(await fieldsOf('refused')).toEqual(inEach('21'));
    expect(await sale.changes()).toMatchObject([{ state: 'refused', sold: 21 }]);
    await sale.edit({ stock: 30 });
    expect(await fieldsOf('refused')).toEqual(inEach(null));
    await sale.expectConsistent(30);
  });

  test('that is refused later: what it took comes back', async () => {
    await dieAfterTaking();
    await finishChanges(sale.connections);
    expect(await sale.changes()).toMatchObject([{ state: 'refused', sold: 21 }]);
    expect(await fieldsOf('hold')).toEqual(inEach(null));
    await sale.expectConsistent(stock);
  });

  test('after it applied the change to one bucket: the others follow, and nothing is added twice', async () => {
    await dieAt('change-applied', () => sale.edit({ stock: 50, paused: true, endTime: 'now' }));
    const endMs = await fieldsOf('endMs');
    const others = sale.buckets.slice(1).map((bucket) => bucket.voucher(sale.id));
    for (const key of others) await sale.redis.hset(key, { change: '0', endMs: '9999999999999' });
    await sale.redis.hdel(others[0] ?? '', 'paused');
    await finishChanges(sale.connections);
    expect(await fieldsOf('paused')).toEqual(inEach('1'));
    expect(await fieldsOf('change')).toEqual(inEach('1'));
    expect(await fieldsOf('endMs')).toEqual(endMs);
    await sale.expectConsistent(50);
  });

  test('of one voucher: the changes of the others are finished', async () => {
    await dieAt('change-begun', () => sale.edit({ stock: 50 }));
    const other = await sale.another({ stock, buckets: 4 });
    await dieAt('change-begun', () => other.edit({ stock: 50 }));
    await sale.redis.hset(first.voucher(sale.id), 'stock', 'damaged');
    expect(await finishChanges(sale.connections)).toEqual([other.id]);
    await sale.redis.hset(first.voucher(sale.id), 'stock', '10');
    await sale.redis.del(first.transfers(sale.id));
    await sale.redis.set(first.transfers(sale.id), 'damaged');
    await dieAt('change-begun', () => other.edit({ stock: 60 }));
    await expect(finishChanges(sale.connections)).rejects.toThrow('WRONGTYPE');
    expect(await other.changes()).toMatchObject([{ state: 'done' }, { state: 'done' }]);
  });

  test('and Redis loses the sale: a rebuild makes it of the new stock', async () => {
    await buyAs(usersUpTo(6));
    await dieAt('change-begun', () => sale.edit({ stock: 50 }));
    for (const bucket of sale.buckets) await holdOf(bucket);
    await adjustOf(first, 10);
    await sale.record();
    for (const bucket of sale.buckets.slice(1))
      await sale.redis.del(bucket.voucher(sale.id), bucket.buyers(sale.id));
    await sale.rebuild();
    await finishChanges(sale.connections);
    expect(await sale.changes()).toMatchObject([{ state: 'done' }]);
    expect(await fieldsOf('hold')).toEqual(inEach(null));
    expect(await buyAs(usersUpTo(60, 100))).toBe(44);
    await sale.expectConsistent(50);
  });
});

/**
 * A process that changes the stock and stands still before its n-th script in Redis. `resume` lets
 * it go on, and resolves when it has ended.
 * @param keepsMysql otherwise MySQL has given up its connection by then
 */
async function standsStillBefore(call: number, asked: VoucherEdit, keepsMysql = false) {
  const stale = await sale.otherProcess();
  const client = stale.redis('admin');
  const send = client.evalsha.bind(client);
  const there = Promise.withResolvers<void>();
  const resumed = Promise.withResolvers<void>();
  let calls = 0;
  client.evalsha = (async (...args: Parameters<typeof send>) => {
    calls += 1;
    if (calls === call) {
      there.resolve();
      await resumed.promise;
    }
    return send(...args);
  }) as typeof client.evalsha;
  const change = changeSale(stale, sale.id, '98', asked).catch((error: unknown) => error);
  await Promise.race([there.promise, change]);
  if (!keepsMysql) destroyConnections(stale.mysql(), new Error('the process stands still'));
  const resume = async () => {
    resumed.resolve();
    await change;
  };
  return { isStopped: calls >= call, resume };
}

const finished = () =>
  waitUntil('the change to be finished', 20_000, async () => {
    await finishChanges(sale.connections).catch(() => {});
    const changes = await sale.changes();
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
      expect(await finishChanges(sale.connections)).toEqual([sale.id]);
      await standsStillBefore(15, { stock: 45 }); // For ever: two of its buckets are adjusted.
      await stale.resume();
      await finished();
      await untilNotHeld();
      await sale.expectConsistent(45);
      expect(await sellOut(1_000)).toBe(45 - 8);
    },
  );

  test.each([9, 13])(
    'and goes on while units are on their way, before its script %d: it does not count wrongly',
    async (call) => {
      const stale = await standsStillBefore(call, { stock: to });
      expect(await finishChanges(sale.connections)).toEqual([sale.id]);
      expect(await lend(sale.buckets.at(-1) as ShardKeys)).toMatchObject({ 0: 'lent' });
      await stale.resume();
      await untilNotHeld();
      await sale.expectConsistent(to);
    },
  );
});

test('a process that goes on after a later change was applied holds nothing', async () => {
  const stale = await standsStillBefore(1, { stock: 50 });
  await finished();
  await sale.edit({ stock: 45 });
  await stale.resume();
  expect(await fieldsOf('hold')).toEqual(inEach(null));
  await sale.expectConsistent(45);
});

test('a process that lost its hold before it applied its change does not apply it', async () => {
  const stale = await standsStillBefore(1, { stock: 50 });
  await finished();
  const slow = await standsStillBefore(17, { stock: 45 }, true);
  await stale.resume(); // It holds the buckets, and changes them to its own stock.
  await slow.resume();
  await finished();
  await sale.expectConsistent(45);
});

test('a process that lost its hold before it gave back what was taken refuses nothing', async () => {
  await dieAfterTaking();
  const slow = await standsStillBefore(13, { title: 'later' }, true);
  for (const bucket of sale.buckets) await holdOf(bucket);
  await slow.resume();
  await untilNotHeld();
  await finishChanges(sale.connections);
  expect((await sale.changes())[0]).toMatchObject({ number: 1, state: 'refused' });
  await sale.expectConsistent(stock);
});

test('stock that is replayed from a dead letter is not sold while its bucket is held', async () => {
  await holdOf(first);
  const letter = await sale.redis.xadd(first.dead, '*', 'reason', 'stock-short');
  const keys = [
    ...[first.voucher(sale.id), first.buyers(sale.id), first.orders, first.queued],
    ...[first.dead, first.replayed, first.epoch],
  ];
  const replay = ['77', sale.id, '7', 'replay:1', letter ?? '', epoch()];
  const answer = await runScript(sale.redis, loadScript('sale/replay'), keys, replay);
  expect(answer).toEqual(['reopening', '', expect.any(Number)]);
  expect(await fieldsOf('stock')).toEqual(inEach('10'));
});

describe('a Redis that has lost the last change', () => {
  test.each([30, 50])('gets it back, with a stock of %i, and sells on', async (to) => {
    await buyAs(usersUpTo(8));
    await sale.record();
    const keys = sale.buckets.map((bucket) => bucket.voucher(sale.id));
    const before = await Promise.all(keys.map((key) => sale.redis.hgetall(key)));
    await sale.edit({ stock: to, paused: true });
    for (const [index, key] of keys.entries()) {
      await sale.redis.del(key);
      await sale.redis.hset(key, before[index] ?? {});
    }
    expect((await reconcile(sale.connections)).verdict).toBe('inconsistent');
    expect((await repair(sale.connections)).after.verdict).toBe('consistent');
    expect(await fieldsOf('paused')).toEqual(inEach('1'));
    expect(await fieldsOf('hold')).toEqual(inEach(null));
    expect(await sale.stockInRedis()).toBe(to - 8);
    await sale.edit({ paused: false });
    expect(await buyAs([100])).toBe(1);
    await sale.expectConsistent(to);
  });
});

test('changes of several operators at once all take effect, and none is told of a fault', async () => {
  const processes = [sale.connections, await sale.otherProcess(), await sale.otherProcess()];
  const wanted = usersUpTo(9, 31);
  const changing = wanted.map((to, turn) =>
    changeSale(processes[turn % 3] ?? sale.connections, sale.id, '9', { stock: to }),
  );
  const done = await Promise.all(changing);
  expect(done.map((each) => each?.state)).toEqual(wanted.map(() => 'done'));
  expect(done.map((each) => each?.stock).sort()).toEqual(wanted);
  const last = done.find((each) => each?.number === wanted.length);
  expect(await sale.stockInRedis()).toBe(last?.stock);
  await sale.expectConsistent(last?.stock ?? 0);
});

test('a change that one bucket knows a later one of is refused, and changes no bucket', async () => {
  await sale.redis.hset(second.voucher(sale.id), { change: '7', changeBegunMs: '1' });
  const asked = { stock: 30, paused: true };
  await expect(sale.edit(asked)).rejects.toThrow('MySQL has lost its last changes');
  expect(await fieldsOf('hold')).toEqual(inEach(null));
  expect(await fieldsOf('paused')).toEqual(inEach(null));
  expect(await sale.stockInRedis()).toBe(stock);
  expect((await repair(sale.connections)).after.verdict).toBe('inconsistent');
});
