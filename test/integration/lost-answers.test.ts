/**
 * An answer that is lost on the wire: the write took effect once, and the caller is told that it
 * does not know.
 */
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Order } from '../../src/service/domain.ts';
import { bypassedTransaction } from '../../src/service/inventory/bypassed-transaction.ts';
import { claimThenQueue } from '../../src/service/inventory/claim-then-queue.ts';
import { luaStream } from '../../src/service/inventory/lua-stream.ts';
import { stockPositive } from '../../src/service/inventory/stock-positive.ts';
import { endlessLease } from '../../src/service/locks/shared/leases.ts';
import type { OrderQueue } from '../../src/service/queues/order-queue.ts';
import { redisStreamGroupQueue } from '../../src/service/queues/redis-stream-group.ts';
import { quietRedis, testConnections } from '../support/connections.ts';
import { ownLab } from '../support/own-lab.ts';
import { luaStreamSale, openLuaStream, someOrder, someVoucher } from '../support/sale.ts';
import { startOwnRedis } from '../support/servers.ts';
import { proxyBefore } from '../support/test-proxy.ts';

const lease = endlessLease(async () => {});

describe('a purchase whose answer is lost', () => {
  test('runs once, is unknown to its caller, and the same request again finds the order', async () => {
    const proxy = await proxyBefore(quietRedis());
    const connections = testConnections({ REDIS_URL: proxy.url });
    const direct = testConnections({ REDIS_URL: quietRedis() });
    const redis = direct.redis('admin');
    await direct.ready();
    const { inventory, voucher } = await luaStreamSale(connections, { stock: 11 });
    // From now on Redis knows the script: the next answer is that of the purchase, not NOSCRIPT.
    await inventory.sell(someOrder(voucher.id, '6'), voucher, lease);

    const order = someOrder(voucher.id, '7', 'once');
    proxy.swallowNextAnswer(order.id); // Not one to the client that copies vouchers to Redis.
    const lost = await inventory.sell(order, voucher, lease);
    expect(lost).toMatchObject({ kind: 'unknown', orderId: order.id });

    // Were the command sent again after the reconnect, a second sale would show here.
    await waitUntil(
      'the client to reconnect',
      20_000,
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

const by =
  (...[command = '', ...args]: string[]) =>
  (redis: Redis) =>
    redis.call(command, ...args);

/** Its folder is gone: it answers MISCONF after the first snapshot that it cannot write. */
async function unableToSave(redis: Redis): Promise<void> {
  await redis.config('SET', 'save', '3600 1');
  onTestFinished(async () => void (await redis.config('SET', 'save', ''))); // Else it never ends.
  const [, folder = ''] = (await redis.config('GET', 'dir')) as string[];
  rmSync(folder, { recursive: true });
  await redis.bgsave();
  await expect.poll(() => redis.info('persistence')).toContain('rdb_last_bgsave_status:err');
}

test.each<[string, (redis: Redis) => Promise<unknown>]>([
  ['a replica now', by('REPLICAOF', '127.0.0.1', '1')],
  ['without the replicas that it needs', by('CONFIG', 'SET', 'min-replicas-to-write', '1')],
  ['full', by('CONFIG', 'SET', 'maxmemory', '1')],
  ['unable to save', unableToSave],
])(
  'a purchase is refused as not-ready by a Redis that is %s, and wrote nothing',
  async (_, harm) => {
    const connections = testConnections({ REDIS_URL: (await startOwnRedis()).url });
    const admin = connections.redis('admin');
    const { inventory, voucher } = await luaStreamSale(connections, { stock: 10 });
    await harm(admin);
    const outcome = await inventory.sell(someOrder(voucher.id, '7'), voucher, lease);
    expect(outcome).toEqual({ kind: 'refused', reason: 'not-ready' });
    const { voucher: stock, buyers, orders } = connections.saleKeys.of(voucher.id);
    expect(await admin.hget(stock(voucher.id), 'stock')).toBe('10');
    expect(await admin.exists(buyers(voucher.id), orders)).toBe(0);
  },
);

describe('a sale that claims, then queues, on a Redis that is full', () => {
  const full = ['SET', 'maxmemory', '1'] as const;

  async function onSale() {
    const connections = testConnections({ REDIS_URL: (await startOwnRedis()).url });
    const admin = connections.redis('admin');
    const queue = redisStreamGroupQueue(connections.redis('purchase'), connections.saleKeys);
    await connections.ready();
    const voucher = await someVoucher(connections, { stock: 10 });
    const sellBy = async (by: OrderQueue) => {
      const inventory = claimThenQueue(connections.redis('purchase'), connections.saleKeys, by);
      return inventory.sell(someOrder(voucher.id, '7'), voucher, lease);
    };
    await claimThenQueue(admin, connections.saleKeys, queue).prepare(voucher);
    const { voucher: stock, buyers, orders } = connections.saleKeys.of(voucher.id);
    const wroteNothing = async () => {
      expect(await admin.hget(stock(voucher.id), 'stock')).toBe('10');
      expect(await admin.exists(buyers(voucher.id), orders)).toBe(0);
    };
    return { admin, queue, sellBy, wroteNothing };
  }

  test('refuses as not-ready before stock is taken', async () => {
    const { admin, queue, sellBy, wroteNothing } = await onSale();
    await admin.config(...full);
    expect(await sellBy(queue)).toEqual({ kind: 'refused', reason: 'not-ready' });
    await wroteNothing();
  });

  test('gives the stock back when the queue refuses the order', async () => {
    const { admin, queue, sellBy, wroteNothing } = await onSale();
    const publish = async (order: Order) => {
      await admin.config(...full);
      await queue.publish(order);
    };
    const outcome = await sellBy({ ...queue, publish });
    expect(outcome).toEqual({ kind: 'refused', reason: 'not-ready' });
    await wroteNothing();
  });
});

test('a buyer who waits too long behind a slow call is refused, and nothing was sent', async () => {
  const own = await startOwnRedis();
  const connections = testConnections({ REDIS_URL: own.url, PURCHASE_ANSWER_MS: '5000' });
  const inventory = luaStream(connections.redis('purchase'), connections.saleKeys, { waitMs: 50 });
  await connections.ready();
  const voucher = await someVoucher(connections, { stock: 10 });
  await inventory.prepare(voucher);
  const buy = (user: string) => inventory.sell(someOrder(voucher.id, user), voucher, lease);
  await buy('1');
  await own.pause();
  const first = buy('2');
  await sleep(20); // Its call is sent, and not answered.
  const behind = buy('3');
  await sleep(200);
  await own.resume();
  expect(await first).toMatchObject({ kind: 'accepted' });
  expect(await behind).toEqual({ kind: 'refused', reason: 'not-ready' });
  expect(await inventory.remaining(voucher)).toBe(8);
});

test('a statement without a transaction whose answer is lost may have sold', async () => {
  const proxy = await proxyBefore(ownLab.environment['MYSQL_URL'] ?? '');
  const connections = testConnections({ MYSQL_URL: proxy.url, MYSQL_POOL_SIZE: '1' });
  const voucher = await someVoucher(testConnections(), { stock: 10 });
  const inventory = bypassedTransaction(connections.mysql());
  // Its first statement answers; the next one, whose answer is lost, is a write.
  const order = someOrder(voucher.id, '7');
  proxy.swallowNextAnswer();
  expect(await inventory.sell(order, voucher, lease)).toMatchObject({
    ...{ kind: 'unknown', orderId: order.id },
  });
});

test('a COMMIT whose answer is lost is unknown, and its connection is not used again', async () => {
  const proxy = await proxyBefore(ownLab.environment['MYSQL_URL'] ?? '');
  const connections = testConnections({ MYSQL_URL: proxy.url, MYSQL_POOL_SIZE: '1' });
  const direct = testConnections();
  const voucher = await someVoucher(direct, { stock: 10 });
  const inventory = stockPositive(connections.mysql());
  // The sale looks at its lease right before COMMIT: the next answer is the one to COMMIT.
  const lookBeforeCommit = { ...lease, assertHeld: () => proxy.swallowNextAnswer() };
  const outcome = await inventory.sell(someOrder(voucher.id, '7'), voucher, lookBeforeCommit);
  expect(outcome.kind).toBe('unknown');
  expect(await inventory.remaining(voucher)).toBe(9);
});
