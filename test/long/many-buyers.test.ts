/** A sale of 150,000 orders: more values than one call of a function takes as its arguments. */
import { expect, test } from 'vitest';
import { audit } from '../../src/service/audit/audit.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import type { Voucher } from '../../src/service/domain.ts';
import { repair } from '../../src/service/orders/reconcile/repair.ts';
import { openProcess, ownStores } from '../support/own-stores.ts';
import { factsOf, onSale, usersUpTo } from '../support/sale.ts';

const many = 150_000;
const atOnce = 1_000;

async function inPages(write: (numbers: readonly number[]) => Promise<unknown>): Promise<void> {
  for (let from = 1; from <= many; from += atOnce) await write(usersUpTo(atOnce, from));
}

/** All orders are in flight: user `n` has order `n`. */
async function queueMany(connections: Connections, { id }: Voucher): Promise<void> {
  const redis = connections.redis('admin');
  const { orders, queued } = connections.saleKeys.of(id);
  await inPages(async (numbers) => {
    await redis.hset(queued, Object.fromEntries(numbers.map((n) => [String(n), `${id}:${n}`])));
    const pipeline = redis.pipeline();
    for (const n of numbers)
      pipeline.xadd(orders, '*', 'orderId', n, 'voucherId', id, 'userId', n, 'requestId', `r${n}`);
    await pipeline.exec();
  });
}

test('its facts are collected, and audited', async () => {
  const connections = await openProcess(await ownStores());
  const voucher = await onSale(connections, many);
  const redis = connections.redis('admin');
  const { buyers, queued } = connections.saleKeys.of(voucher.id);
  await inPages(async (numbers) => {
    const bought = numbers.map((n) => [String(n), `${n}:r${n}`]);
    await redis.hset(buyers(voucher.id), Object.fromEntries(bought));
    const notes = numbers.map((n) => [String(n), `${voucher.id}:${n}`]);
    await redis.hset(queued, Object.fromEntries(notes));
  });
  const facts = await factsOf(connections, voucher.id);
  expect(Object.keys(facts.redis?.buyers ?? {})).toHaveLength(many);
  expect(facts.redis?.queued).toHaveLength(many);
  expect(audit(facts).findings.map(({ check }) => check)).toContain('no-oversell');
});

test('every forgotten buyer of it is repaired', async () => {
  const connections = await openProcess(await ownStores());
  const voucher = await onSale(connections, many);
  await queueMany(connections, voucher);
  const { after, repaired } = await repair(connections, voucher.id);
  expect(repaired).toHaveLength(many + 1); // And the stock.
  expect(after).toMatchObject({ verdict: 'consistent', vouchers: [{ buyers: many, stock: 0 }] });
});
