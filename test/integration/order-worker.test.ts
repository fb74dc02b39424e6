/** Recording orders: once, whatever is delivered again, and a dead letter gives everything back. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Connections } from '../../src/connections/connections.ts';
import { change, select } from '../../src/connections/mysql.ts';
import type { ShardKeys } from '../../src/connections/sale-keys.ts';
import type { Order, Voucher } from '../../src/domain.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { endlessLease } from '../../src/locks/shared/leases.ts';
import { findOrder } from '../../src/orders/find-order.ts';
import { workOrders } from '../../src/orders/order-worker.ts';
import { type Records, recordBatch, recordOne } from '../../src/orders/record-orders.ts';
import { openVouchers } from '../../src/purchase/vouchers.ts';
import { openConnections, quiet, quietRedis } from '../support/connections.ts';
import { openLuaStream, openStreamQueue, someOrder, someVoucher } from '../support/sale.ts';

const railed = { rails: true, workMs: 0, retries: 0 };
let connections: Connections;
let voucher: Voucher;
let keys: ShardKeys;
let records: Records;

beforeEach(async () => {
  connections = openConnections({
    REDIS_URL: quietRedis(),
    CLAIM_IDLE_MS: '100',
    BATCH_GATHER_MS: '0',
  });
  connections.redis('admin');
  connections.redis('purchase');
  await connections.ready();
  voucher = await someVoucher(connections, { stock: 3, lab: railed });
  keys = connections.saleKeys.of(voucher.id);
  records = { pool: connections.mysql(), vouchers: openVouchers(connections) };
  await connections.redis('admin').del(keys.orders, keys.queued);
  await openLuaStream(connections).prepare(voucher);
});
afterEach(() => connections.close());

const stock = async () => {
  const [row] = await select<{ stock: number }>(
    connections.mysql(),
    'SELECT stock FROM seckill_stock WHERE voucher_id = ?',
    [voucher.id],
  );
  return row?.stock;
};
const redisStock = () => connections.redis('admin').hget(keys.voucher(voucher.id), 'stock');

async function buy(userId: string): Promise<Order> {
  const order = someOrder(voucher.id, userId);
  const outcome = await openLuaStream(connections).sell(
    order,
    voucher,
    endlessLease(async () => {}),
  );
  expect(outcome.kind).toBe('accepted');
  return order;
}

async function workUntilEmpty(): Promise<void> {
  const stop = new AbortController();
  const queue = openStreamQueue(connections);
  const working = workOrders(connections, queue, quiet, stop.signal);
  await waitUntil('the queue to drain', 15_000, async () => (await queue.depth()) === 0).finally(
    () => stop.abort(),
  );
  await working;
}

describe('recording', () => {
  test('a batch is one transaction: all of it or nothing', async () => {
    const orders = ['1', '2'].map((userId) => someOrder(voucher.id, userId));
    await recordBatch(records, orders);
    expect(await stock()).toBe(1);
    const tooMany = ['3', '4'].map((userId) => someOrder(voucher.id, userId));
    await expect(recordBatch(records, tooMany)).rejects.toThrow();
    expect(await stock()).toBe(1);
  });

  test('an order that is delivered again is a success, and takes no stock', async () => {
    const order = someOrder(voucher.id, '1');
    expect(await recordOne(records, order)).toBe('recorded');
    expect(await recordOne(records, order)).toBe('recorded');
    expect(await stock()).toBe(2);
  });

  test('a batch with one delivered again still records the others', async () => {
    const [first, second] = [await buy('1'), await buy('2')];
    await recordOne(records, first);
    await workUntilEmpty();
    expect(await stock()).toBe(1);
    expect(await findOrder(connections, second.id)).toMatchObject({ status: 'confirmed' });
  });

  test('another order of the same user is not a success', async () => {
    await recordOne(records, someOrder(voucher.id, '1'));
    expect(await recordOne(records, someOrder(voucher.id, '1'))).toBe('user-has-another-order');
  });
});

describe('an order', () => {
  test('is queued from the moment it is accepted, then confirmed', async () => {
    const order = await buy('1');
    expect(await findOrder(connections, order.id)).toMatchObject({
      status: 'queued',
      userId: '1',
      voucherId: voucher.id,
    });
    await workUntilEmpty();
    expect(await findOrder(connections, order.id)).toMatchObject({
      status: 'confirmed',
      userId: '1',
    });
  });

  test('that MySQL has no stock for fails with its reason; its buyer is free again, and no stock is made up', async () => {
    await change(connections.mysql(), 'UPDATE seckill_stock SET stock = 0 WHERE voucher_id = ?', [
      voucher.id,
    ]);
    const order = await buy('1');
    expect(await redisStock()).toBe('2');
    await workUntilEmpty();
    expect(await findOrder(connections, order.id)).toMatchObject({
      status: 'failed',
      reason: 'stock-short',
    });
    expect(await redisStock()).toBe('2');
    expect(await connections.redis('admin').hexists(keys.buyers(voucher.id), '1')).toBe(0);
  });

  test('of a user who has another one fails, its stock comes back, and the other one is what the user has bought', async () => {
    const other = someOrder(voucher.id, '1');
    await recordOne(records, other);
    const order = await buy('1');
    await workUntilEmpty();
    expect(await findOrder(connections, order.id)).toMatchObject({
      status: 'failed',
      reason: 'user-has-another-order',
    });
    expect(await redisStock()).toBe('3');
    const bought = await connections.redis('admin').hget(keys.buyers(voucher.id), '1');
    expect(bought).toBe(`${other.id}:${other.requestId}`);
  });

  test('whose id belongs to another is not taken for a redelivery', async () => {
    const order = someOrder(voucher.id, '1');
    await recordOne(records, order);
    const impostor = { ...order, userId: '2' };
    expect(await recordOne(records, impostor)).toBe('id-belongs-to-another-order');
  });

  test('that is no order is moved to the dead, and does not block the others', async () => {
    const redis = connections.redis('admin');
    await redis.del(keys.dead);
    await redis.xadd(keys.orders, '*', 'orderId', '5', 'nonsense', '1');
    const order = await buy('1');
    await workUntilEmpty();
    expect(await findOrder(connections, order.id)).toMatchObject({ status: 'confirmed' });
    const [entry] = await redis.xrange(keys.dead, '-', '+');
    expect(entry?.[1]).toEqual(['reason', 'malformed', 'orderId', '5', 'nonsense', '1']);
  });

  test('that failed stays failed when it is delivered once more', async () => {
    await change(connections.mysql(), 'UPDATE seckill_stock SET stock = 0 WHERE voucher_id = ?', [
      voucher.id,
    ]);
    const order = await buy('1');
    await workUntilEmpty();
    await change(connections.mysql(), 'UPDATE seckill_stock SET stock = 3 WHERE voucher_id = ?', [
      voucher.id,
    ]);
    await openStreamQueue(connections).publish(order);
    await workUntilEmpty();
    expect(await findOrder(connections, order.id)).toMatchObject({ status: 'failed' });
    expect([await stock(), await redisStock()]).toEqual([3, '2']);
  });
});
