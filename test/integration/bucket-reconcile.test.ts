/**
 * Reconcile and rebuild of a voucher in buckets, on real stores: its buckets are one sale, and what
 * is on its way between two of them is part of its stock.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { ShardKeys } from '../../src/service/connections/sale-keys.ts';
import { loadScript, runScript } from '../../src/service/connections/scripts.ts';
import type { Order } from '../../src/service/domain.ts';
import { rebuild } from '../../src/service/orders/reconcile/rebuild.ts';
import { reconcile } from '../../src/service/orders/reconcile/reconcile.ts';
import { repair } from '../../src/service/orders/reconcile/repair.ts';
import { type OwnSale, ownSale } from '../support/own-sale.ts';
import { usersUpTo } from '../support/sale.ts';

const units = 12;
/** The voucher declares another number of buckets. */
const shape = { SALE_SHARDS: '2', VOUCHER_BUCKETS: '3' };
let sale: OwnSale;
/** Of users 1 to 3, in MySQL; of 4 and 5, in the streams. */
let orders: Order[];

beforeEach(async () => {
  sale = await ownSale({ stock: units, buckets: 4 }, shape);
  orders = await sale.buyAs([1, 2, 3]);
  await sale.record();
  orders.push(...(await sale.buyAs([4, 5])));
  expect(orders).toHaveLength(5);
});

const found = () => reconcile(sale.connections, sale.id);

/** Runs a script of lua/buckets/ on this bucket. */
const run = (name: string, { voucher, transfers, epoch }: ShardKeys, ...args: string[]) => {
  const keys = [voucher(sale.id), transfers(sale.id), epoch];
  return runScript(sale.redis, loadScript(`buckets/${name}`), keys, args);
};

/** Taken out of one bucket for another, and the process died. @returns the epoch. */
async function cutTransfer(): Promise<string> {
  const epoch = sale.connections.epoch.value;
  expect(await run('lend', sale.buckets[1] as ShardKeys, '3', epoch)).toMatchObject({ 0: 'lent' });
  return epoch;
}

/** Exactly the stock is sold, and once to each user. */
async function expectSoldOnce(): Promise<void> {
  await sale.buyAs(usersUpTo(3 * units));
  await sale.record();
  expect(await sale.stockOfBuckets()).toMatchObject({ stock: 0, inTransit: 0 });
  expect(await found()).toMatchObject({
    verdict: 'consistent',
    vouchers: [{ recorded: units, buyers: units, inFlight: 0 }],
  });
}

describe('reconcile', () => {
  test('counts all buckets as one sale, also while stock is on its way between two', async () => {
    await cutTransfer();
    expect((await sale.stockOfBuckets()).inTransit).toBeGreaterThan(0);
    expect(await reconcile(sale.connections)).toMatchObject({
      verdict: 'consistent',
      vouchers: [{ voucherId: sale.id, stock: 7, recorded: 3, inFlight: 2, buyers: 5 }],
    });
  });

  test('finds a unit too many in one bucket, and takes it back while all of them are held', async () => {
    await sale.redis.hincrby(sale.bucketOf(1).voucher(sale.id), 'stock', 1);
    expect(await found()).toMatchObject({
      verdict: 'inconsistent',
      vouchers: [{ differences: [{ kind: 'stock', gap: 1 }] }],
    });
    const { after, repaired } = await repair(sale.connections, sale.id);
    expect([after.verdict, repaired.length]).toEqual(['consistent', 1]);
    expect((await sale.stockOfBuckets()).stock).toBe(7);
  });

  test('finishes a transfer that was cut in half, and changes nothing else', async () => {
    await cutTransfer();
    const { after, repaired } = await repair(sale.connections, sale.id);
    expect(repaired.map(({ says }) => says)).toEqual([['transfers-finished', 1]]);
    expect(after.verdict).toBe('consistent');
    expect(await sale.stockOfBuckets()).toMatchObject({ stock: 7, inTransit: 0, open: [] });
    expect((await repair(sale.connections, sale.id)).repaired).toEqual([]);
  });

  test('makes users buyers again in their own buckets, and queues their orders there', async () => {
    const [recorded, queued] = [orders[0], orders[4]] as [Order, Order];
    const [first, fifth] = [sale.bucketOf(1), sale.bucketOf(5)];
    await sale.redis.hdel(first.buyers(sale.id), '1');
    await sale.redis.hincrby(first.voucher(sale.id), 'stock', 0);
    await sale.redis.del(fifth.orders);
    const { repaired } = await repair(sale.connections, sale.id);
    expect(repaired.length).toBeGreaterThanOrEqual(2);
    expect(await sale.buyer(1)).toBe(`${recorded.id}:${recorded.requestId}`);
    const entries = await sale.redis.xrange(fifth.orders, '-', '+');
    expect(entries.map(([, fields]) => fields[1])).toContain(queued.id);
    await expectSoldOnce();
  });
});

describe('a rebuild', () => {
  const quick = () => rebuild(sale.connections, undefined, 100);
  const untilItSells = () =>
    waitUntil('a sale', 20_000, async () => (await sale.buy(90)).kind === 'accepted');

  test('gives every bucket its buyers again, and splits what is left', async () => {
    await sale.record();
    await sale.redis.flushdb();
    expect(await quick()).toMatchObject({ after: { verdict: 'consistent' }, hadLostData: true });
    expect(await sale.stockOfBuckets()).toMatchObject({ stock: 7, inTransit: 0, transfers: 0 });
    for (const { id, userId } of orders) expect(await sale.buyer(userId)).toMatch(id);
    await untilItSells();
    await expectSoldOnce();
  });

  test('ends a transfer that was half-way: its units are sold once, however late it is put', async () => {
    const epoch = await cutTransfer();
    await sale.redis.hincrby(sale.bucketOf(1).voucher(sale.id), 'stock', 5); // Not to be trusted.
    expect(await quick()).toMatchObject({ after: { verdict: 'consistent' } });
    expect(await sale.stockOfBuckets()).toMatchObject({ stock: 7, inTransit: 0, open: [] });
    const late = await run('put', sale.buckets[3] as ShardKeys, '1', '1', '2', epoch);
    expect(late).toBe('other-epoch');
    expect((await sale.stockOfBuckets()).stock).toBe(7);
    await untilItSells();
    await expectSoldOnce();
  });
});
