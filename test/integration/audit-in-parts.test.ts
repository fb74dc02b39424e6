/**
 * The audit that reads a voucher in parts finds what the audit of all facts finds, also beyond one
 * part.
 */
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { audit } from '../../src/audit/audit.ts';
import { auditInParts } from '../../src/audit/audit-in-parts.ts';
import { collectFacts } from '../../src/audit/collect.ts';
import { confirmed, usersWithSeveralOrders } from '../../src/audit/facts.ts';
import type { Connections } from '../../src/connections/connections.ts';
import { change } from '../../src/connections/mysql.ts';
import type { Voucher } from '../../src/domain.ts';
import { openRung } from '../../src/ladder/open-rung.ts';
import { openVouchers } from '../../src/purchase/vouchers.ts';
import { openConnections, quietRedis } from '../support/connections.ts';
import { someOrder } from '../support/sale.ts';
import { onSale, usersUpTo } from '../support/selling.ts';

/** More than two parts of 5,000 users. */
const buyers = 11_300;
let connections: Connections;

beforeEach(async () => {
  connections = openConnections({ REDIS_URL: quietRedis() });
  onTestFinished(() => connections.close());
  for (const role of ['admin', 'purchase'] as const) connections.redis(role);
  await connections.ready();
});

/** As if a worker had recorded them; MySQL's last line is off. */
async function insertOrders(voucher: Voucher, users: readonly number[], status = 'confirmed') {
  const orders = users.map((user) => someOrder(voucher.id, String(user)));
  const rows = orders.map(({ id, userId, requestId }) => [
    id,
    voucher.id,
    userId,
    requestId,
    status,
  ]);
  const insert = 'INSERT INTO orders (id, voucher_id, user_id, request_id, status) VALUES ?';
  await connections.mysql().query(insert, [rows]);
  return orders;
}

async function sold(stock: number, users: readonly number[]): Promise<Voucher> {
  const voucher = await onSale(connections, stock);
  const orders = await insertOrders(voucher, users);
  const keys = connections.saleKeys.of(voucher.id);
  const redis = connections.redis('admin');
  const fields = orders.flatMap(({ userId, id, requestId }) => [userId, `${id}:${requestId}`]);
  await redis.hset(keys.buyers(voucher.id), ...fields);
  await redis.hset(keys.voucher(voucher.id), 'stock', stock - users.length);
  await stockInMysql(voucher, stock - users.length);
  return voucher;
}

const stockInMysql = ({ id }: Voucher, stock: number) =>
  change(connections.mysql(), 'UPDATE seckill_stock SET stock = ? WHERE voucher_id = ?', [
    stock,
    id,
  ]);

/** The numbers of both audits. */
async function both({ id }: Voucher) {
  const facts = await collectFacts(connections, id);
  const inParts = await auditInParts(connections, id);
  if (!facts || !inParts) throw new Error(`voucher ${id} is gone`);
  const whole = audit(facts);
  const numbers = (findings: typeof whole.findings) =>
    findings.map(({ check, verdict, count }) => ({ check, verdict, count }));
  return {
    whole: {
      verdict: whole.verdict,
      orders: confirmed(facts).length,
      usersWithTwoOrders: usersWithSeveralOrders(facts),
      findings: numbers(whole.findings),
      skipped: whole.skipped,
    },
    inParts: {
      verdict: inParts.verdict,
      orders: inParts.orders,
      usersWithTwoOrders: inParts.usersWithTwoOrders,
      findings: numbers(inParts.findings),
      skipped: inParts.skipped,
    },
  };
}

test('a sale without a fault held', async () => {
  const voucher = await sold(buyers + 5, usersUpTo(buyers));
  const { whole, inParts } = await both(voucher);
  expect(inParts).toMatchObject({ verdict: 'held', orders: buyers });
  expect(inParts).toEqual(whole);
});

test('a voucher that nobody bought held', async () => {
  const { whole, inParts } = await both(await onSale(connections, 3));
  expect(inParts).toMatchObject({ verdict: 'held', orders: 0 });
  expect(inParts).toEqual(whole);
});

test('users with two orders, also those at the border of two parts, are counted once each', async () => {
  const voucher = await sold(2 * buyers, usersUpTo(buyers));
  await insertOrders(voucher, [1, 4_999, 5_000, 5_001, 10_000, buyers]);
  await stockInMysql(voucher, 2 * buyers - buyers - 6);
  const { whole, inParts } = await both(voucher);
  expect(inParts).toMatchObject({ verdict: 'violated', usersWithTwoOrders: 6 });
  expect(inParts).toEqual(whole);
});

test('a user with more orders than a part has users is one case', async () => {
  const voucher = await sold(buyers + 6_000, usersUpTo(buyers));
  await insertOrders(
    voucher,
    Array.from({ length: 6_000 }, () => 7),
  );
  await stockInMysql(voucher, 0);
  const { whole, inParts } = await both(voucher);
  expect(inParts.usersWithTwoOrders).toBe(1);
  expect(inParts).toEqual(whole);
});

test('too many orders, and a stock that Redis and MySQL tell differently', async () => {
  const voucher = await sold(buyers, usersUpTo(buyers));
  await insertOrders(voucher, [90_001, 90_002]);
  const { whole, inParts } = await both(voucher);
  const wrong = inParts.findings.filter(({ verdict }) => verdict === 'violated');
  expect(wrong.map(({ check, count }) => [check, count])).toEqual([
    ['no-oversell', 2],
    ['redis-matches-mysql', 2],
  ]);
  expect(inParts).toEqual(whole);
});

test('buyers without an order, and buyers whose order has failed', async () => {
  const voucher = await sold(buyers + 10, usersUpTo(buyers));
  const keys = connections.saleKeys.of(voucher.id);
  const redis = connections.redis('admin');
  await redis.hset(keys.buyers(voucher.id), '90001', '5:x', '90002', '6:x');
  await insertOrders(voucher, [90_003], 'failed');
  await redis.hset(keys.buyers(voucher.id), '90003', '7:x');
  const { whole, inParts } = await both(voucher);
  const found = inParts.findings.find(({ check }) => check === 'redis-matches-mysql');
  expect(found).toMatchObject({ verdict: 'violated', count: 3 });
  expect(inParts).toEqual(whole);
});

test('an order that waits makes it unknown', async () => {
  const voucher = await sold(buyers + 1, usersUpTo(buyers));
  const keys = connections.saleKeys.of(voucher.id);
  const redis = connections.redis('admin');
  await redis.hset(keys.queued, '12345', `${voucher.id}:90001`);
  onTestFinished(async () => void (await redis.hdel(keys.queued, '12345')));
  const { whole, inParts } = await both(voucher);
  expect(inParts.verdict).toBe('unknown');
  expect(inParts).toEqual(whole);
});

test('a sale that goes on is unknown, whatever a part has found', async () => {
  const voucher = await sold(buyers + 1, usersUpTo(buyers));
  const keys = connections.saleKeys.of(voucher.id);
  const redis = connections.redis('admin');
  await redis.hset(keys.buyers(voucher.id), '90001', '5:x'); // Its order is on its way.
  let isOver = false;
  const selling = (async () => {
    for (let stock = 1; !isOver; stock++)
      await redis.hset(keys.voucher(voucher.id), 'stock', stock);
  })();
  const audited = await auditInParts(connections, voucher.id);
  isOver = true;
  await selling;
  const found = audited?.findings.find(({ check }) => check === 'redis-matches-mysql');
  expect(found).toMatchObject({ verdict: 'unknown', first: expect.stringContaining('running') });
});

test('a sale that is over is decided while another one goes on', async () => {
  const voucher = await sold(buyers, usersUpTo(buyers));
  const { queued } = connections.saleKeys.of(voucher.id);
  const redis = connections.redis('admin');
  let isOver = false;
  const selling = (async () => {
    for (let order = 1; !isOver; order++) await redis.hset(queued, `${order}`, '4711:1');
  })();
  const { whole, inParts } = await both(voucher);
  isOver = true;
  await selling;
  await redis.del(queued);
  expect(inParts.verdict).toBe('held');
  expect(inParts).toEqual(whole);
});

test('units that are sold to no order, and an order without a unit, where each unit has a row', async () => {
  const { inventory } = await openRung('unit-rows', connections, { onReleaseFailed: () => {} });
  const sale = { title: 'test', stock: 6, beginTime: new Date(0), endTime: new Date() };
  const rung = 'unit-rows';
  const voucher = await openVouchers(connections).create({ ...sale, rung }, inventory.prepare);
  const [first, second, failed] = [
    ...(await insertOrders(voucher, [1, 2])),
    ...(await insertOrders(voucher, [3], 'failed')),
  ];
  const give = 'UPDATE voucher_units SET order_id = ? WHERE voucher_id = ? AND unit = ?';
  for (const [unit, id] of [first?.id, '4711', failed?.id].entries())
    await change(connections.mysql(), give, [id ?? null, voucher.id, unit + 1]);
  expect(second).toBeDefined(); // It has no unit.
  const { whole, inParts } = await both(voucher);
  const found = inParts.findings.find(({ check }) => check === 'no-oversell');
  expect(found).toMatchObject({ verdict: 'violated' });
  expect(inParts).toEqual(whole);
});

test('there is no audit of a voucher that does not exist', async () => {
  expect(await auditInParts(connections, '999999999999')).toBeNull();
});
