/** The keys of ended sales: deleted when nothing of them waits, and a purchase still learns why. */
import { beforeEach, expect, test } from 'vitest';
import { audit } from '../../src/audit/audit.ts';
import { auditInParts } from '../../src/audit/audit-in-parts.ts';
import { collectFacts } from '../../src/audit/collect.ts';
import type { Connections } from '../../src/connections/connections.ts';
import { agreeOnEpoch } from '../../src/connections/epoch.ts';
import { change } from '../../src/connections/mysql.ts';
import type { Voucher } from '../../src/domain.ts';
import { openRung } from '../../src/ladder/open-rung.ts';
import { endedSalesText, removeEndedSales } from '../../src/orders/ended-sales.ts';
import { reconcile } from '../../src/orders/reconcile/reconcile.ts';
import { quiet } from '../support/connections.ts';
import { openProcess, ownStores } from '../support/own-stores.ts';
import { someOrder } from '../support/sale.ts';
import { buyAs, onSale, workUntilEmpty } from '../support/selling.ts';

const dayMs = 86_400_000;
let connections: Connections;

beforeEach(async () => {
  connections = await openProcess(await ownStores());
});

const keysOf = ({ id }: Voucher): Promise<number> => {
  const { voucher, buyers } = connections.saleKeys.of(id);
  return connections.redis('admin').exists(voucher(id), buyers(id));
};

/** Its sale was so many days ago, for MySQL and for Redis. */
async function endAgo(voucher: Voucher, days: number): Promise<Voucher> {
  const endTime = new Date(Date.now() - days * dayMs);
  await change(connections.mysql(), 'UPDATE vouchers SET end_time = ? WHERE id = ?', [
    endTime,
    voucher.id,
  ]);
  const hash = connections.saleKeys.of(voucher.id).voucher(voucher.id);
  await connections.redis('admin').hset(hash, 'endMs', endTime.getTime());
  return { ...voucher, endTime };
}

test('are deleted from so many days after the end, and the stores still agree', async () => {
  const [old, young, open] = [
    await onSale(connections, 3),
    await onSale(connections, 3),
    await onSale(connections, 3),
  ];
  for (const voucher of [old, young, open]) await buyAs(connections, voucher, [1, 2]);
  await workUntilEmpty(connections);
  await endAgo(old, 31);
  await endAgo(young, 29);
  expect(await removeEndedSales(connections, 30)).toEqual({ removed: [old.id], waiting: [] });
  expect(await Promise.all([old, young, open].map(keysOf))).toEqual([0, 2, 2]);
  expect(await reconcile(connections)).toMatchObject({ verdict: 'consistent', removed: 1 });
  expect(await removeEndedSales(connections, 30)).toEqual({ removed: [], waiting: [] });
});

test('stay while an order of the sale waits in the stream, or is noted as queued', async () => {
  const voucher = await onSale(connections, 3);
  const [order] = await buyAs(connections, voucher, [1]);
  await workUntilEmpty(connections);
  await endAgo(voucher, 0);
  const keys = connections.saleKeys.of(voucher.id);
  const redis = connections.redis('admin');
  const waits = { removed: [], waiting: [voucher.id] };
  await redis.del(keys.orders);
  await redis.xadd(keys.orders, '1-1', 'orderId', order?.id ?? '', 'voucherId', voucher.id);
  expect(await removeEndedSales(connections, 0)).toEqual(waits);
  await redis.del(keys.orders);
  await redis.hset(keys.queued, order?.id ?? '', `${voucher.id}:1`);
  expect(await removeEndedSales(connections, 0)).toEqual(waits);
  await redis.del(keys.queued);
  expect(await removeEndedSales(connections, 0)).toEqual({ removed: [voucher.id], waiting: [] });
});

test('stay while MySQL has fewer orders than Redis has buyers: Redis may have the only copy', async () => {
  const voucher = await onSale(connections, 3);
  const [order] = await buyAs(connections, voucher, [1, 2]);
  await workUntilEmpty(connections);
  await endAgo(voucher, 1);
  await change(connections.mysql(), 'DELETE FROM orders WHERE id = ?', [order?.id ?? '']);
  expect(await removeEndedSales(connections, 0)).toEqual({ removed: [], waiting: [voucher.id] });
  expect(await keysOf(voucher)).toBe(2);
});

test('stay while Redis is being rebuilt, or belongs to other data', async () => {
  await agreeOnEpoch(connections, quiet);
  const voucher = await onSale(connections, 3);
  await endAgo(voucher, 1);
  const { epoch } = connections.saleKeys.of(voucher.id);
  const redis = connections.redis('admin');
  const known = (await redis.get(epoch)) ?? '';
  for (const other of [`rebuilding:${known}`, '00000000-0000-4000-8000-000000000000']) {
    await redis.set(epoch, other);
    await expect(removeEndedSales(connections, 0)).rejects.toThrow();
  }
  await redis.set(epoch, known);
  expect(await removeEndedSales(connections, 0)).toMatchObject({ removed: [voucher.id] });
});

test('are not missed by the audit of the sale', async () => {
  const voucher = await onSale(connections, 3);
  await buyAs(connections, voucher, [1, 2]);
  await workUntilEmpty(connections);
  await endAgo(voucher, 1);
  await removeEndedSales(connections, 1);
  const facts = await collectFacts(connections, voucher.id);
  const inParts = await auditInParts(connections, voucher.id);
  for (const audited of [facts && audit(facts), inParts]) {
    expect(audited?.verdict).toBe('held');
    expect(audited?.skipped.map(({ check }) => check)).toContain('redis-matches-mysql');
  }
});

test('a younger order of another sale in the stream keeps no ended sale', async () => {
  const ended = await onSale(connections, 3);
  await buyAs(connections, ended, [1]);
  await workUntilEmpty(connections);
  await endAgo(ended, 1);
  const open = await onSale(connections, 3);
  await buyAs(connections, open, [1]);
  expect(await removeEndedSales(connections, 1)).toEqual({ removed: [ended.id], waiting: [] });
  expect(await keysOf(open)).toBe(2);
});

test.each(['lua-stream', 'lua-buckets', 'redis-stream-group'])(
  'a purchase on %s is answered "ended" without the keys, and "not ready" while the sale was open',
  async (rung) => {
    const open = await onSale(connections, 3);
    const { purchase } = await openRung(rung, connections, { onReleaseFailed: () => {} });
    const buy = (voucher: Voucher) => purchase(someOrder(voucher.id, '7'), { ...voucher, rung });
    const { voucher, buyers } = connections.saleKeys.of(open.id);
    await connections.redis('admin').del(voucher(open.id), buyers(open.id));
    expect(await buy(open)).toMatchObject({ kind: 'refused', reason: 'not-ready' });
    const over = { ...open, endTime: new Date(Date.now() - 1) };
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
