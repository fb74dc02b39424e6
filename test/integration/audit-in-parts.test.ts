/**
 * The audit that reads a voucher in parts finds what the audit of all facts finds, also beyond one
 * part.
 */
import { beforeEach, expect, test } from 'vitest';
import { audit, auditInEnglish } from '../../src/service/audit/audit.ts';
import { auditInParts, type VoucherAudit } from '../../src/service/audit/audit-in-parts.ts';
import { collectFacts } from '../../src/service/audit/collect.ts';
import { confirmed, usersWithSeveralOrders } from '../../src/service/audit/facts.ts';
import { change } from '../../src/service/connections/mysql.ts';
import { openRung } from '../../src/service/ladder/open-rung.ts';
import { openVouchers } from '../../src/service/purchase/vouchers.ts';
import { type OwnSale, quietSale } from '../support/own-sale.ts';
import { someOrder, usersUpTo } from '../support/sale.ts';

/** More than two parts of 5,000 users. */
const buyers = 11_300;
let sale: OwnSale;

beforeEach(async () => {
  sale = await quietSale({});
});

/** As if a worker had recorded them; MySQL's last line is off. */
async function insertOrders(id: string, users: readonly number[], status = 'confirmed') {
  const orders = users.map((user) => someOrder(id, String(user)));
  const rows = orders.map((order) => [order.id, id, order.userId, order.requestId, status]);
  const insert = 'INSERT INTO orders (id, voucher_id, user_id, request_id, status) VALUES ?';
  await sale.pool.query(insert, [rows]);
  return orders;
}

const stockInMysql = (stock: number) =>
  change(sale.pool, 'UPDATE seckill_stock SET stock = ? WHERE voucher_id = ?', [stock, sale.id]);
const setStock = (stock: number) => sale.redis.hset(sale.keys.voucher(sale.id), { stock });
const addBuyers = (...fields: string[]) => sale.redis.hset(sale.keys.buyers(sale.id), ...fields);

/** As many as there are `buyers` have bought of this stock. */
async function sold(stock: number): Promise<void> {
  sale = await sale.another({ stock });
  const orders = await insertOrders(sale.id, usersUpTo(buyers));
  await addBuyers(...orders.flatMap((each) => [each.userId, `${each.id}:${each.requestId}`]));
  await setStock(stock - buyers);
  await stockInMysql(stock - buyers);
}

type Counted = Pick<VoucherAudit, 'verdict' | 'findings' | 'skipped'>;
const numbers = ({ verdict, findings, skipped }: Counted) => ({
  ...{ verdict, skipped },
  findings: findings.map(({ check, verdict: of, count }) => ({ check, of, count })),
});

/** @returns what the audit in parts found, which is what the other one finds. */
async function found(id = sale.id) {
  const facts = await collectFacts(sale.connections, id);
  const inParts = await auditInParts(sale.connections, id);
  if (!facts || !inParts) throw new Error(`voucher ${id} is gone`);
  const whole = audit(facts);
  expect(numbers(inParts)).toEqual(numbers({ ...whole, ...auditInEnglish(whole) }));
  const { orders, usersWithTwoOrders } = inParts;
  expect(orders).toBe(confirmed(facts).length);
  expect(usersWithTwoOrders).toEqual(usersWithSeveralOrders(facts));
  const violated = inParts.findings.filter(({ verdict }) => verdict === 'violated');
  return {
    ...{ verdict: inParts.verdict, orders, usersWithTwoOrders },
    violated: violated.map(({ check, count }) => [check, count]),
  };
}

/** Does it over and over while the audit goes on. */
async function meanwhile<T>(
  audited: () => Promise<T>,
  goesOn: (turn: number) => Promise<unknown>,
): Promise<T> {
  let isOver = false;
  const going = (async () => {
    for (let turn = 1; !isOver; turn++) await goesOn(turn);
  })();
  const result = await audited();
  isOver = true;
  await going;
  return result;
}

test('a sale without a fault held', async () => {
  await sold(buyers + 5);
  expect(await found()).toMatchObject({ verdict: 'held', orders: buyers });
});

test('a voucher that nobody bought held', async () => {
  expect(await found()).toMatchObject({ verdict: 'held', orders: 0 });
});

test('users with two orders, also those at the border of two parts, are counted once each', async () => {
  await sold(2 * buyers);
  await insertOrders(sale.id, [1, 4_999, 5_000, 5_001, 10_000, buyers]);
  await stockInMysql(2 * buyers - buyers - 6);
  expect(await found()).toMatchObject({ verdict: 'violated', usersWithTwoOrders: 6 });
});

test('a user with more orders than a part has users is one case', async () => {
  await sold(buyers + 6_000);
  await insertOrders(sale.id, Array<number>(6_000).fill(7));
  await stockInMysql(0);
  expect(await found()).toMatchObject({ usersWithTwoOrders: 1 });
});

test('too many orders, and a stock that Redis and MySQL tell differently', async () => {
  await sold(buyers);
  await insertOrders(sale.id, [90_001, 90_002]);
  const { violated } = await found();
  expect(violated).toEqual([
    ['no-oversell', 2],
    ['redis-matches-mysql', 2],
  ]);
});

test('buyers without an order, and buyers whose order has failed', async () => {
  await sold(buyers + 10);
  await addBuyers('90001', '5:x', '90002', '6:x', '90003', '7:x');
  await insertOrders(sale.id, [90_003], 'failed');
  expect((await found()).violated).toContainEqual(['redis-matches-mysql', 3]);
});

test('an order that waits makes it unknown', async () => {
  await sold(buyers + 1);
  await sale.redis.hset(sale.keys.queued, '12345', `${sale.id}:90001`);
  expect((await found()).verdict).toBe('unknown');
});

test('a sale that goes on is unknown, whatever a part has found', async () => {
  await sold(buyers + 1);
  await addBuyers('90001', '5:x'); // Its order is on its way.
  const audited = await meanwhile(() => auditInParts(sale.connections, sale.id), setStock);
  const finding = audited?.findings.find(({ check }) => check === 'redis-matches-mysql');
  expect(finding).toMatchObject({ verdict: 'unknown', first: expect.stringContaining('running') });
});

test('a sale that is over is decided while another one goes on', async () => {
  await sold(buyers);
  const { redis, keys } = sale;
  const { verdict } = await meanwhile(found, (order) =>
    redis.hset(keys.queued, `${order}`, '4711:1'),
  );
  expect(verdict).toBe('held');
  await redis.del(keys.queued);
});

test('units that are sold to no order, and an order without a unit, where each unit has a row', async () => {
  const rung = 'unit-rows';
  const { inventory } = await openRung(rung, sale.connections);
  const times = { beginTime: new Date(0), endTime: new Date() };
  const terms = { title: 'test', stock: 6, ...times, rung };
  const { id } = await openVouchers(sale.connections).create(terms, inventory.prepare);
  const [first] = await insertOrders(id, [1, 2]); // The second has no unit.
  const [failed] = await insertOrders(id, [3], 'failed');
  const give = 'UPDATE voucher_units SET order_id = ? WHERE voucher_id = ? AND unit = ?';
  for (const [unit, orderId] of [first?.id, '4711', failed?.id].entries())
    await change(sale.pool, give, [orderId ?? null, id, unit + 1]);
  const { violated } = await found(id);
  expect(violated.map(([check]) => check)).toContain('no-oversell');
});

test('there is no audit of a voucher that does not exist', async () => {
  expect(await auditInParts(sale.connections, '999999999999')).toBeNull();
});
