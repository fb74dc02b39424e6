/** The keys of ended sales: deleted when nothing of them waits, and a purchase still learns why. */
import { beforeEach, expect, test } from 'vitest';
import { audit } from '../../src/service/audit/audit.ts';
import { auditInParts } from '../../src/service/audit/audit-in-parts.ts';
import { change } from '../../src/service/connections/mysql.ts';
import type { Voucher } from '../../src/service/domain.ts';
import { openRung } from '../../src/service/ladder/open-rung.ts';
import { endedSalesText, removeEndedSales } from '../../src/service/orders/ended-sales.ts';
import { reconcile } from '../../src/service/orders/reconcile/reconcile.ts';
import { type OwnSale, ownSale } from '../support/own-sale.ts';

const dayMs = 86_400_000;
let sale: OwnSale;

beforeEach(async () => {
  sale = await ownSale({});
});

const remove = (days: number) => removeEndedSales(sale.connections, days);
const removes = (...removed: OwnSale[]) => ({ removed: removed.map(({ id }) => id), waiting: [] });
const keysOf = ({ id, keys }: OwnSale): Promise<number> =>
  sale.redis.exists(keys.voucher(id), keys.buyers(id));

/** It was so many days ago, for MySQL and for Redis. */
async function endAgo({ id, keys }: OwnSale, days: number): Promise<void> {
  const endTime = new Date(Date.now() - days * dayMs);
  await change(sale.pool, 'UPDATE vouchers SET end_time = ? WHERE id = ?', [endTime, id]);
  await sale.redis.hset(keys.voucher(id), 'endMs', endTime.getTime());
}

/** Users 1 and 2 have bought, and it ended so many days ago. */
async function soldAndEnded(days: number) {
  const [order] = await sale.buyAs([1, 2]);
  await sale.record();
  await endAgo(sale, days);
  return order?.id ?? '';
}

test('are deleted from so many days after the end, and the stores still agree', async () => {
  const young = await sale.another();
  const open = await sale.another();
  for (const each of [young, open]) await each.buyAs([1, 2]);
  await soldAndEnded(31);
  await endAgo(young, 29);
  expect(await remove(30)).toEqual(removes(sale));
  expect(await Promise.all([sale, young, open].map(keysOf))).toEqual([0, 2, 2]);
  expect(await reconcile(sale.connections)).toMatchObject({ verdict: 'consistent', removed: 1 });
  expect(await remove(30)).toEqual(removes());
});

test('stay while an order of the sale waits in the stream, or is noted as queued', async () => {
  const orderId = await soldAndEnded(0);
  const { redis, keys, id } = sale;
  const waits = { removed: [], waiting: [id] };
  await redis.del(keys.orders);
  await redis.xadd(keys.orders, '1-1', 'orderId', orderId, 'voucherId', id);
  expect(await remove(0)).toEqual(waits);
  await redis.del(keys.orders);
  await redis.hset(keys.queued, orderId, `${id}:1`);
  expect(await remove(0)).toEqual(waits);
  await redis.del(keys.queued);
  expect(await remove(0)).toEqual(removes(sale));
});

test('stay while MySQL has fewer orders than Redis has buyers: Redis may have the only copy', async () => {
  const orderId = await soldAndEnded(1);
  await change(sale.pool, 'DELETE FROM orders WHERE id = ?', [orderId]);
  expect(await remove(0)).toEqual({ removed: [], waiting: [sale.id] });
  expect(await keysOf(sale)).toBe(2);
});

test('stay while Redis is being rebuilt, or belongs to other data', async () => {
  await endAgo(sale, 1);
  const { redis } = sale;
  const { epoch } = sale.keys;
  const known = (await redis.get(epoch)) ?? '';
  for (const other of [`rebuilding:${known}`, '00000000-0000-4000-8000-000000000000']) {
    await redis.set(epoch, other);
    await expect(remove(0)).rejects.toThrow();
  }
  await redis.set(epoch, known);
  expect(await remove(0)).toEqual(removes(sale));
});

test('are not missed by the audit of the sale', async () => {
  await soldAndEnded(1);
  await remove(1);
  const facts = await sale.facts();
  const inParts = await auditInParts(sale.connections, sale.id);
  for (const audited of [audit(facts), inParts]) {
    expect(audited?.verdict).toBe('held');
    expect(audited?.skipped.map(({ check }) => check)).toContain('redis-matches-mysql');
  }
});

test('a younger order of another sale in the stream keeps no ended sale', async () => {
  await soldAndEnded(1);
  const open = await sale.another();
  await open.buyAs([1]);
  expect(await remove(1)).toEqual(removes(sale));
  expect(await keysOf(open)).toBe(2);
});

test.each(['lua-stream', 'lua-buckets', 'redis-stream-group'])(
  'a purchase on %s is answered "ended" without the keys, and "not ready" while the sale was open',
  async (rung) => {
    const { purchase } = await openRung(rung, sale.connections);
    const buy = (voucher: Voucher) => purchase(sale.order(7), { ...voucher, rung });
    await sale.loseRedis();
    expect(await buy(sale.voucher)).toMatchObject({ kind: 'refused', reason: 'not-ready' });
    const over = { ...sale.voucher, endTime: new Date(Date.now() - 1) };
    expect(await buy(over)).toEqual({ kind: 'refused', reason: 'ended' });
  },
);

test('the text names the vouchers, and those that are kept only where there are some', () => {
  const text = endedSalesText({ removed: ['7', '9'], waiting: [] });
  expect(text).toBe('removed from Redis: 2: 7, 9');
  const both = endedSalesText({ removed: [], waiting: ['8'] });
  expect(both).toBe(
    'removed from Redis: 0\nkept, because not all orders are recorded (see reconcile): 1: 8',
  );
});
