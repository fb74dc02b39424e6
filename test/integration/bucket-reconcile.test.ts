/**
 * Reconcile and rebuild of a voucher in buckets, on real stores: its buckets are one sale, and what
 * is on its way between two of them is part of its stock.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import type { Connections } from '../../src/connections/connections.ts';
import type { ShardKeys } from '../../src/connections/sale-keys.ts';
import { loadScript, runScript } from '../../src/connections/scripts.ts';
import type { Order, Outcome, Voucher } from '../../src/domain.ts';
import { stockOfBuckets } from '../../src/inventory/shared/bucket-stock.ts';
import { type OpenRung, openRung } from '../../src/ladder/open-rung.ts';
import { rebuild } from '../../src/orders/reconcile/rebuild.ts';
import { reconcile } from '../../src/orders/reconcile/reconcile.ts';
import { repair } from '../../src/orders/reconcile/repair.ts';
import { ownStores, startedProcess } from '../support/own-stores.ts';
import { someOrder, someVoucher } from '../support/sale.ts';
import { workUntilEmpty } from '../support/selling.ts';

const units = 12;
/** Declared by the voucher; the processes are configured for another number. */
const count = 4;
const rung = 'lua-buckets';
const railed = { rails: true, workMs: 0, retries: 0 };
const shape = { SALE_SHARDS: '2', VOUCHER_BUCKETS: '3' };
let connections: Connections;
let opened: OpenRung;
let voucher: Voucher;
let buckets: readonly ShardKeys[];
/** Of users 1 to 3, in MySQL; of 4 and 5, in the streams. */
let orders: Order[];

beforeEach(async () => {
  connections = await startedProcess({ ...(await ownStores()), ...shape });
  opened = await openRung(rung, connections, { onReleaseFailed: () => {} });
  voucher = await someVoucher(connections, { stock: units, lab: railed, rung, buckets: count });
  await opened.inventory.prepare(voucher);
  buckets = connections.saleKeys.bucketsOf(voucher.id, count);
  orders = [];
  for (const user of [1, 2, 3]) await sold(user);
  await workUntilEmpty(connections);
  for (const user of [4, 5]) await sold(user);
});

const redis = () => connections.redis('admin');
const buy = async (order: Order): Promise<Outcome> => opened.purchase(order, voucher);
const buyAs = (user: number) => buy(someOrder(voucher.id, String(user)));
const stock = () => stockOfBuckets(redis(), connections.saleKeys, voucher.id, count);
const bucketOf = (user: number) => connections.saleKeys.bucketOf(voucher.id, String(user), count);
const found = () => reconcile(connections, voucher.id);

async function sold(user: number): Promise<void> {
  const order = someOrder(voucher.id, String(user));
  expect(await buy(order)).toMatchObject({ kind: 'accepted' });
  orders.push(order);
}

/** Taken out of one bucket for another, and the process died. @returns the epoch. */
async function cutTransfer(): Promise<string> {
  const [, from] = buckets as [ShardKeys, ShardKeys];
  const epoch = (await redis().get(from.epoch)) ?? '';
  const keys = [from.voucher(voucher.id), from.transfers(voucher.id), from.epoch];
  const answer = await runScript(redis(), loadScript('buckets/lend'), keys, ['3', epoch]);
  expect(answer).toMatchObject({ 0: 'lent' });
  return epoch;
}

/** Exactly the stock is sold, and once to each user. */
async function expectSoldOnce(): Promise<void> {
  for (let user = 1; user <= 3 * units; user++) await buyAs(user);
  await workUntilEmpty(connections);
  expect(await stock()).toMatchObject({ stock: 0, inTransit: 0 });
  expect(await found()).toMatchObject({
    verdict: 'consistent',
    vouchers: [{ recorded: units, buyers: units, inFlight: 0 }],
  });
}

describe('reconcile', () => {
  test('counts all buckets as one sale, also while stock is on its way between two', async () => {
    await cutTransfer();
    expect((await stock()).inTransit).toBeGreaterThan(0);
    expect(await reconcile(connections)).toMatchObject({
      verdict: 'consistent',
      vouchers: [{ voucherId: voucher.id, stock: 7, recorded: 3, inFlight: 2, buyers: 5 }],
    });
  });

  test('finds a unit too many in one bucket, and takes it back while all of them are held', async () => {
    await redis().hincrby(bucketOf(1).voucher(voucher.id), 'stock', 1);
    expect(await found()).toMatchObject({
      verdict: 'inconsistent',
      vouchers: [{ differences: [{ kind: 'stock', gap: 1 }] }],
    });
    const { after, repaired } = await repair(connections, voucher.id);
    expect([after.verdict, repaired.length]).toEqual(['consistent', 1]);
    expect((await stock()).stock).toBe(7);
  });

  test('finishes a transfer that was cut in half, and changes nothing else', async () => {
    await cutTransfer();
    const { after, repaired } = await repair(connections, voucher.id);
    expect(repaired.map(({ text }) => text)).toEqual(['1 transfers between buckets were finished']);
    expect(after.verdict).toBe('consistent');
    expect(await stock()).toMatchObject({ stock: 7, inTransit: 0, open: [] });
    expect((await repair(connections, voucher.id)).repaired).toEqual([]);
  });

  test('makes users buyers again in their own buckets, and queues their orders there', async () => {
    const [recorded, queued] = [orders[0], orders[4]] as [Order, Order];
    const [first, fifth] = [bucketOf(1), bucketOf(5)];
    await redis().hdel(first.buyers(voucher.id), '1');
    await redis().hincrby(first.voucher(voucher.id), 'stock', 0);
    await redis().del(fifth.orders);
    const { repaired } = await repair(connections, voucher.id);
    expect(repaired.length).toBeGreaterThanOrEqual(2);
    const buyer = await redis().hget(first.buyers(voucher.id), '1');
    expect(buyer).toBe(`${recorded.id}:${recorded.requestId}`);
    const entries = await redis().xrange(fifth.orders, '-', '+');
    expect(entries.map(([, fields]) => fields[1])).toContain(queued.id);
    await expectSoldOnce();
  });
});

describe('a rebuild', () => {
  const quick = () => rebuild(connections, undefined, 100);
  const untilItSells = async () => {
    for (let tries = 0; tries < 100; tries++) {
      if ((await buyAs(90)).kind === 'accepted') return;
    }
    throw new Error('nothing is sold');
  };

  test('gives every bucket its buyers again, and splits what is left', async () => {
    await workUntilEmpty(connections);
    await redis().flushdb();
    expect(await quick()).toMatchObject({ after: { verdict: 'consistent' }, hadLostData: true });
    expect(await stock()).toMatchObject({ stock: 7, inTransit: 0, transfers: 0 });
    for (const { id, userId } of orders)
      expect(await redis().hget(bucketOf(Number(userId)).buyers(voucher.id), userId)).toMatch(id);
    await untilItSells();
    await expectSoldOnce();
  });

  test('ends a transfer that was half-way: its units are sold once, however late it is put', async () => {
    const epoch = await cutTransfer();
    await redis().hincrby(bucketOf(1).voucher(voucher.id), 'stock', 5); // Not to be trusted.
    expect(await quick()).toMatchObject({ after: { verdict: 'consistent' } });
    expect(await stock()).toMatchObject({ stock: 7, inTransit: 0, open: [] });
    const { voucher: key, transfers, epoch: epochKey } = buckets[3] as ShardKeys;
    const keys = [key(voucher.id), transfers(voucher.id), epochKey];
    const late = await runScript(redis(), loadScript('buckets/put'), keys, ['1', '1', '2', epoch]);
    expect(late).toBe('other-epoch');
    expect((await stock()).stock).toBe(7);
    await untilItSells();
    await expectSoldOnce();
  });
});
