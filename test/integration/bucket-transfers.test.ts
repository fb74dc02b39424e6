/**
 * lua/buckets/ on a real Redis: each answer, what each leaves in Redis, and that the buckets of a
 * voucher never have more or less than they had, wherever a transfer is cut.
 */
import { randomInt } from 'node:crypto';
import type { Redis } from 'ioredis';
import { beforeEach, describe, expect, test } from 'vitest';
import type { SaleKeys, ShardKeys } from '../../src/service/connections/sale-keys.ts';
import { loadScript, runScript } from '../../src/service/connections/scripts.ts';
import { stockOfBuckets } from '../../src/service/inventory/shared/bucket-stock.ts';
import { BucketTransfers } from '../../src/service/inventory/shared/bucket-transfers.ts';
import { quietRedis } from '../support/connections.ts';
import { openProcess } from '../support/own-stores.ts';
import { someOrder, someVoucherId } from '../support/sale.ts';

const hourMs = 3_600_000;
const count = 3;

let redis: Redis;
let keys: SaleKeys;
let voucherId: string;
let buckets: readonly ShardKeys[];

beforeEach(async () => {
  const connections = await openProcess({ REDIS_URL: quietRedis(), SALE_SHARDS: '2' });
  redis = connections.redis('admin');
  keys = connections.saleKeys;
  voucherId = someVoucherId();
  buckets = keys.bucketsOf(voucherId, count);
});

const bucket = (number: number) => buckets[number] as ShardKeys;
const voucherOf = (number: number) => bucket(number).voucher(voucherId);
const transfersOf = (number: number) => bucket(number).transfers(voucherId);
const touched = (of: number) => [voucherOf(of), transfersOf(of), bucket(of).epoch];
const scriptNamed = (name: string) => loadScript(`buckets/${name}`);

async function onSale(...stocks: number[]): Promise<void> {
  const times = { beginMs: Date.now() - hourMs, endMs: Date.now() + hourMs };
  for (const [number, stock] of stocks.entries())
    await redis.hset(voucherOf(number), { stock, ...times });
}

const lend = (from: number, to: number | '', epoch = '') =>
  runScript(redis, scriptNamed('lend'), touched(from), [String(to), epoch]) as Promise<string[]>;
const put = (from: number, to: number, number: string, units: string, epoch = '') =>
  runScript(redis, scriptNamed('put'), touched(to), [String(from), number, units, epoch]);
const settle = (from: number, to: number, number: string, epoch = '') =>
  runScript(redis, scriptNamed('settle'), touched(from).slice(1), [String(to), number, epoch]);
const ofEach = <T>(read: (number: number) => Promise<T>) => Promise.all([0, 1, 2].map(read));
const stocks = () => ofEach((number) => redis.hget(voucherOf(number), 'stock'));
const everything = async () => [
  await ofEach((number) => redis.hgetall(voucherOf(number))),
  await ofEach((number) => redis.hgetall(transfersOf(number))),
];
const whole = () => stockOfBuckets(redis, keys, voucherId, count);

/** A user who is sold from this bucket. */
function userOf(number: number): string {
  for (let user = 1; ; user++)
    if (keys.bucketOf(voucherId, String(user), count) === bucket(number)) return String(user);
}
/** A client that does this before each script. */
const beforeScripts = (act: (digest: unknown) => Promise<void>): Redis =>
  Object.assign(Object.create(redis) as Redis, {
    evalsha: async (...args: Parameters<Redis['evalsha']>) => {
      await act(args[0]);
      return redis.evalsha(...args);
    },
  });
const noEpoch = { value: '', refresh: () => {} };
const transfers = (client = redis) => new BucketTransfers(client, keys, noEpoch);
const borrow = (number: number, by = transfers()) =>
  by.borrowFor(someOrder(voucherId, userOf(number)), count);
const proven = {
  ...{ word: 'empty', reopens: false },
  ...{ soldOutBy: expect.any(String), sinceMs: expect.any(Number) },
};

describe('the script that lends', () => {
  test('takes half of the stock out, rounded up, and notes it', async () => {
    await onSale(0, 5, 0);
    expect(await lend(1, 0)).toEqual(['lent', '1', '3']);
    expect(await stocks()).toEqual(['0', '2', '0']);
    const noted = { 'open:0': '1:3', 'sent:0': '1', moves: '1' };
    expect(await redis.hgetall(transfersOf(1))).toEqual(noted);
  });

  test('takes once, however often it is sent, until the transfer is settled', async () => {
    await onSale(0, 5, 0);
    const first = await lend(1, 0);
    expect([await lend(1, 0), await lend(1, 0)]).toEqual([first, first]);
    expect(await stocks()).toEqual(['0', '2', '0']);
    await settle(1, 0, '1');
    expect(await lend(1, 0)).toEqual(['lent', '2', '1']);
  });

  test('never lends more than the whole, and names the state that the last unit leaves', async () => {
    await onSale(0, 1, 0);
    expect(await lend(1, 0)).toEqual(['lent', '1', '1']);
    expect(await lend(1, 2)).toEqual(['empty', '1:lent:0:1:', 'lent:0:1:', '0', '1:1']);
    expect(await stocks()).toEqual(['0', '0', '0']);
  });

  test('only looks when there is no borrower, and tells of every open transfer', async () => {
    await onSale(0, 8, 0);
    await lend(1, 0);
    await lend(1, 2);
    const before = await everything();
    const [word, state, soldOutBy, ...open] = await lend(1, '');
    expect([word, state, soldOutBy]).toEqual(['has-stock', '2:', '']);
    expect([open.slice(0, 2), open.slice(2)].sort()).toEqual([
      ['0', '1:4'],
      ['2', '1:2'],
    ]);
    expect(await everything()).toEqual(before);
  });

  test('does not lend stock that came back and is not sold yet', async () => {
    await onSale(0, 5, 0);
    await redis.hset(voucherOf(1), 'reopensMs', Date.now() + hourMs);
    expect(await lend(1, 0)).toEqual(['reopening', '0:', '']);
    expect(await stocks()).toEqual(['0', '5', '0']);
  });
});

describe('the script that puts', () => {
  test('adds the units once, however often and however late it is sent', async () => {
    await onSale(0, 8, 0);
    expect(await lend(1, 0)).toEqual(['lent', '1', '4']);
    expect([await put(1, 0, '1', '4'), await put(1, 0, '1', '4')]).toEqual(['put', 'already-put']);
    await settle(1, 0, '1');
    expect(await lend(1, 0)).toEqual(['lent', '2', '2']);
    expect(await put(1, 0, '2', '2')).toBe('put');
    await settle(1, 0, '2');
    expect(await put(1, 0, '1', '4')).toBe('already-put'); // Of a process that stood still.
    expect(await stocks()).toEqual(['6', '2', '0']);
  });

  test('adds nothing when it cannot note that it did', async () => {
    await onSale(0, 8, 0);
    await redis.hset(transfersOf(0), 'moves', 'damaged');
    await lend(1, 0);
    await expect(put(1, 0, '1', '4')).rejects.toThrow();
    expect(await stocks()).toEqual(['0', '4', '0']);
  });

  test('counts the transfers of each lender by themselves', async () => {
    await onSale(0, 2, 2);
    await lend(1, 0);
    await lend(2, 0);
    expect([await put(1, 0, '1', '1'), await put(2, 0, '1', '1')]).toEqual(['put', 'put']);
    expect(await stocks()).toEqual(['2', '1', '1']);
  });

  test.each([
    ['units', '1', '-3'],
    ['units', '1', '1e3'],
    ['units', '1', '0'],
    ['number', '0', '3'],
    ['number', '', '3'],
  ])('refuses %s that are malformed: number %s, units %s', async (_, number, units) => {
    await onSale(2, 2, 2);
    await expect(put(1, 0, number, units)).rejects.toThrow('TRANSFER is malformed');
    expect(await stocks()).toEqual(['2', '2', '2']);
  });
});

test('settling closes this transfer, and not a newer one to the same bucket', async () => {
  await onSale(0, 8, 0);
  await lend(1, 0);
  await put(1, 0, '1', '4');
  expect([await settle(1, 0, '1'), await settle(1, 0, '1')]).toEqual(['settled', 'not-open']);
  await lend(1, 0);
  expect(await settle(1, 0, '1')).toBe('not-open');
  expect(await redis.hget(transfersOf(1), 'open:0')).toBe('2:2');
});

describe('every script', () => {
  test('refuses another epoch, and writes nothing', async () => {
    await onSale(0, 8, 0);
    const before = await everything();
    expect(await lend(1, 0, 'other')).toEqual(['other-epoch']);
    expect(await put(1, 0, '1', '4', 'other')).toBe('other-epoch');
    expect(await settle(1, 0, '1', 'other')).toBe('other-epoch');
    expect(await everything()).toEqual(before);
  });

  test('writes nothing when a key has the wrong type', async () => {
    await onSale(3, 8, 0);
    for (const damaged of [0, 1]) await redis.set(transfersOf(damaged), 'damaged');
    await expect(lend(1, 0)).rejects.toThrow('WRONGTYPE');
    await expect(put(1, 0, '1', '4')).rejects.toThrow('WRONGTYPE');
    await expect(settle(1, 0, '1')).rejects.toThrow('WRONGTYPE');
    expect(await stocks()).toEqual(['3', '8', '0']);
  });

  test('does not know a bucket that Redis lost or that is damaged, and invents no stock', async () => {
    await onSale(0, 8, 0);
    await redis.del(voucherOf(0));
    expect(await put(1, 0, '1', '4')).toBe('unknown-voucher');
    expect(await redis.exists(voucherOf(0))).toBe(0);
    await redis.hset(voucherOf(1), 'stock', '1e3');
    expect(await lend(1, 0)).toEqual(['unknown-voucher']);
  });
});

const [found, unsure] = [{ word: 'found' }, { word: 'unsure' }];
const nothing = async () => {};
const nameSoldOut = () => redis.hset(voucherOf(0), 'soldOutBy', '77');
const reopens = (number: number) => redis.hset(voucherOf(number), 'reopensMs', Date.now() + hourMs);
const comesBack = async () => [await nameSoldOut(), await reopens(1)];
const [soldOut, noName] = [
  { ...proven, soldOutBy: '77' },
  { ...proven, soldOutBy: '', reopens: true },
];

type Units = readonly [number, number, number];
type Borrowing = [before: Units, cut: () => Promise<unknown>, word: object, after: string];
/** Of the first bucket: what the buckets had, what was done to them, and what they have then. */
const borrowings: Readonly<Record<string, Borrowing>> = {
  'gets half of what the next one has': [[0, 0, 7], nothing, found, '4 0 3'],
  'finishes a transfer to it that was cut': [[0, 7, 0], () => lend(1, 0), found, '4 3 0'],
  'borrows the last unit, on its way elsewhere': [[0, 1, 0], () => lend(1, 2), found, '1 0 0'],
  'finishes what it has lent and nobody put': [[1, 0, 0], () => lend(0, 2), found, '1 0 0'],
  'knows it when every bucket is empty': [[0, 0, 0], nameSoldOut, soldOut, '0 0 0'],
  'gives sold-out no name while stock comes back': [[0, 1, 0], comesBack, noName, '0 1 0'],
  'is unsure while its own stock comes back': [[1, 8, 0], () => reopens(0), unsure, '1 8 0'],
};

describe('a bucket that borrows', () => {
  test.each(Object.entries(borrowings))('%s', async (_, [before, cut, word, after]) => {
    await onSale(...before);
    await cut();
    const { stock } = await whole();
    expect(stock).toBe(before[0] + before[1] + before[2]);
    expect(await borrow(0)).toEqual(word);
    expect((await stocks()).join(' ')).toBe(after);
    expect(await whole()).toMatchObject({ stock, inTransit: 0, open: [] });
  });

  test('finishes a transfer that was cut after the units were put in, and adds nothing', async () => {
    await onSale(0, 7, 0);
    await lend(1, 0);
    await put(1, 0, '1', '4');
    expect(await whole()).toMatchObject({ stock: 7, inTransit: 0 });
    expect(await borrow(0)).toEqual(found); // Its own: it need not borrow.
    await redis.hset(voucherOf(0), 'stock', '0'); // All four are sold.
    expect(await borrow(0)).toEqual(found);
    expect(await stocks()).toEqual(['0', '3', '0']);
    expect(await redis.hget(transfersOf(1), 'open:0')).toBeNull();
    expect(await borrow(0)).toEqual(found);
    expect(await stocks()).toEqual(['2', '1', '0']);
  });

  test('leaves a transfer open while its units are not put: the next one finishes it', async () => {
    await onSale(0, 7, 0);
    const deaf = beforeScripts(async (digest) => {
      if (digest === scriptNamed('put').digest) throw new Error('the connection is lost');
    });
    expect(await borrow(0, transfers(deaf))).toEqual(unsure);
    expect(await whole()).toMatchObject({ stock: 7, inTransit: 4 });
    expect(await borrow(0)).toEqual(found);
    expect(await stocks()).toEqual(['4', '3', '0']);
  });

  test('does not believe it while stock moves past it', async () => {
    await onSale(0, 0, 1);
    let asked = 0;
    const racing = beforeScripts(async () => {
      asked += 1;
      if (asked === 3) await borrow(1); // It has asked bucket 1, and not yet bucket 2.
    });
    expect(await borrow(0, transfers(racing))).toEqual(found);
    expect(await stocks()).toEqual(['1', '0', '0']);
  });

  test('is unsure when a bucket is lost, or has data of another epoch', async () => {
    await onSale(0, 0, 0);
    const known = { value: 'other', refresh: () => {} };
    expect(await borrow(0, new BucketTransfers(redis, keys, known))).toEqual(unsure);
    await redis.del(voucherOf(2));
    expect(await borrow(0)).toEqual(unsure);
  });
});

test('the sum stays the same through transfers in all directions at once, cut anywhere', async () => {
  await onSale(20, 20, 20);
  const sum = async () => (await whole()).stock;
  const instances = [transfers(), transfers()];
  for (let round = 0; round < 60; round++) {
    const [from, to] = [randomInt(3), randomInt(3)];
    const cut = async () => {
      const [word, number = '', units = ''] = from === to ? [] : await lend(from, to);
      if (word === 'lent' && randomInt(2) === 0) await put(from, to, number, units);
    };
    const borrows = instances.map((each) => borrow(randomInt(3), each));
    await Promise.all([cut(), cut(), ...borrows]);
    expect(await sum()).toBe(60);
  }
  await transfers().finishAll(voucherId, count);
  expect(await whole()).toMatchObject({ stock: 60, inTransit: 0 });
  const kept = (await stocks()).map(Number);
  expect(kept.reduce((all, each) => all + each, 0)).toBe(60);
});

test('users are spread evenly over the buckets, also when their ids have a pattern', () => {
  for (const step of [1, 2, 4, 4096]) {
    const counts = [0, 0, 0];
    for (let user = 1; user <= 3_000; user++) {
      const found = buckets.indexOf(keys.bucketOf(voucherId, String(user * step), count));
      counts[found] = (counts[found] ?? 0) + 1;
    }
    for (const count of counts) expect(count, `step ${step}: ${counts}`).toBeGreaterThan(850);
  }
});
