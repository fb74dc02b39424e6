/**
 * An answer that is lost on the wire: the write took effect once, and the caller is told that it
 * does not know.
 */
import { describe, expect, inject, test } from 'vitest';
import { stockPositive } from '../../src/inventory/stock-positive.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { endlessLease } from '../../src/locks/shared/leases.ts';
import { quietRedis, testConnections } from '../support/connections.ts';
import { openLuaStream, someOrder, someVoucher } from '../support/sale.ts';
import { swallowingProxy } from '../support/swallowing-proxy.ts';

const lease = endlessLease(async () => {});

describe('a purchase whose answer is lost', () => {
  test('runs once, is unknown to its caller, and the same request again finds the order', async () => {
    const proxy = await swallowingProxy(Number(new URL(quietRedis()).port));
    const connections = testConnections({ REDIS_URL: `redis://127.0.0.1:${proxy.port}` });
    const direct = testConnections({ REDIS_URL: quietRedis() });
    const inventory = openLuaStream(connections);
    const redis = direct.redis('admin');
    await Promise.all([connections.ready(), direct.ready()]);
    const voucher = await someVoucher(connections, { stock: 10 });
    await inventory.prepare(voucher);

    const order = someOrder(voucher.id, '7', 'once');
    proxy.swallowNextAnswer();
    const lost = await inventory.sell(order, voucher, lease);
    expect(lost).toMatchObject({ kind: 'unknown', orderId: order.id });

    // Were the command sent again after the reconnect, a second sale would show here.
    await waitUntil(
      'the client to reconnect',
      5_000,
      () => connections.redis('purchase').status === 'ready',
    );
    expect(await redis.hget(direct.saleKeys.of(voucher.id).voucher(voucher.id), 'stock')).toBe('9');
    const again = await inventory.sell(someOrder(voucher.id, '7', 'once'), voucher, lease);
    expect(again).toEqual({ kind: 'accepted', orderId: order.id, status: 'queued' });
    expect(await redis.hget(direct.saleKeys.of(voucher.id).voucher(voucher.id), 'stock')).toBe('9');
  });

  test('is refused as not-ready when nothing was sent, because Redis is away', async () => {
    const connections = testConnections({ REDIS_URL: 'redis://127.0.0.1:1' });
    const inventory = openLuaStream(connections);
    const voucher = await someVoucher(connections);
    const outcome = await inventory.sell(someOrder(voucher.id, '7'), voucher, lease);
    expect(outcome).toEqual({ kind: 'refused', reason: 'not-ready' });
  });
});

test('a COMMIT whose answer is lost is unknown, and its connection is not used again', async () => {
  const url = new URL(inject('environment')['MYSQL_URL'] ?? '');
  const proxy = await swallowingProxy(Number(url.port));
  url.port = String(proxy.port);
  const connections = testConnections({ MYSQL_URL: url.href, MYSQL_POOL_SIZE: '1' });
  const direct = testConnections();
  const voucher = await someVoucher(direct, { stock: 10 });
  const inventory = stockPositive(connections.mysql());
  // The sale looks at its lease right before COMMIT: the next answer is the one to COMMIT.
  const lookBeforeCommit = { ...lease, assertHeld: () => proxy.swallowNextAnswer() };
  const outcome = await inventory.sell(someOrder(voucher.id, '7'), voucher, lookBeforeCommit);
  expect(outcome.kind).toBe('unknown');
  expect(await inventory.remaining(voucher.id)).toBe(9);
});
