/** The units of unit-rows, on two pools where it matters: each process has its own. */
import { describe, expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { audit } from '../../src/service/audit/audit.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { select } from '../../src/service/connections/mysql.ts';
import type { Outcome, Voucher } from '../../src/service/domain.ts';
import type { Inventory } from '../../src/service/inventory/inventory.ts';
import { unitRows } from '../../src/service/inventory/unit-rows.ts';
import { freeLease } from '../../src/service/locks/none.ts';
import { timedLease } from '../../src/service/locks/shared/leases.ts';
import { openVouchers } from '../../src/service/purchase/vouchers.ts';
import { installGate } from '../../src/service/trace/checkpoints.ts';
import { withCode } from '../support/basics.ts';
import { testConnections } from '../support/connections.ts';
import { factsOf, someOrder, someVoucher, usersUpTo, wordOf } from '../support/sale.ts';

const quick = { rails: true, workMs: 0, retries: 0 };
const slow = { ...quick, workMs: 300 };

/** No sale waits longer, however slow the machine is. */
const roomy = { connections: 10, waitMs: 60_000 };

const usersOf = (count: number) => usersUpTo(count).map(String);
const kinds = (outcomes: readonly Outcome[]) => outcomes.map(wordOf).sort();

interface Open {
  readonly connections: Connections;
  readonly inventory: Inventory;
}

function open(limits: Partial<Parameters<typeof unitRows>[1]> = {}): Open {
  const connections = testConnections();
  return { connections, inventory: unitRows(connections.mysql(), { ...roomy, ...limits }) };
}

async function onSale(
  { connections, inventory }: Open,
  changes: Partial<Voucher>,
): Promise<Voucher> {
  const voucher = await someVoucher(connections, { rung: 'unit-rows', lab: quick, ...changes });
  await inventory.prepare(voucher);
  return voucher;
}

/** Units that are left, orders, and what the audit says about them. */
async function recorded({ connections }: Open, { id }: Voucher) {
  connections.redis('admin');
  await connections.ready();
  const facts = await factsOf(connections, id);
  const { stock, orders, unitOrders } = facts.mysql;
  const found = audit(facts).findings.find(({ check }) => check === 'no-oversell');
  return { left: stock, orders: orders.length, sold: unitOrders?.length, verdict: found?.verdict };
}

/** Until sales have locked so many units of an unsold voucher. */
const untilLocked = ({ connections }: Open, { id, stock }: Voucher, count: number) =>
  waitUntil(`${count} locked units`, 20_000, async () => {
    const free = await select(
      connections.mysql(),
      'SELECT unit FROM voucher_units WHERE voucher_id = ? FOR UPDATE SKIP LOCKED',
      [id],
    );
    return stock - free.length === count;
  });

describe('two processes', () => {
  test('sell every unit once to many users', async () => {
    const [one, two] = [open(), open()];
    const voucher = await onSale(one, { stock: 33, lab: { ...quick, workMs: 20, retries: 20 } });
    const sales = usersOf(80).map((userId, index) =>
      (index % 2 ? one : two).inventory.sell(someOrder(voucher.id, userId), voucher, freeLease),
    );
    const outcomes = kinds(await Promise.all(sales));
    expect(outcomes.filter((kind) => kind === 'accepted')).toHaveLength(33);
    expect(new Set(outcomes)).toEqual(new Set(['accepted', 'sold-out']));
    expect(await recorded(one, voucher)).toEqual({
      ...{ left: 0, orders: 33, sold: 33, verdict: 'held' },
    });
  });

  test('sell one to a user who asks both at once, and the other units stay for sale', async () => {
    const [one, two] = [open(), open()];
    const voucher = await onSale(one, { stock: 10, lab: { ...quick, workMs: 20 } });
    const sales = Array.from({ length: 8 }, (_, index) =>
      (index % 2 ? one : two).inventory.sell(someOrder(voucher.id, '7'), voucher, freeLease),
    );
    const outcomes = kinds(await Promise.all(sales));
    expect(outcomes.filter((kind) => kind === 'accepted')).toHaveLength(1);
    expect(await recorded(one, voucher)).toEqual({
      ...{ left: 9, orders: 1, sold: 1, verdict: 'held' },
    });
  });
});

test('a sale does not wait for a sale of the same voucher in another process', async () => {
  const [one, two] = [open(), open()];
  const voucher = await onSale(one, { stock: 2, lab: quick });
  const letOn = Promise.withResolvers<void>();
  installGate(async (name) => {
    if (name !== 'stock-taken') return;
    installGate(() => Promise.resolve());
    await letOn.promise;
  });
  const buy = async ({ inventory }: Open, userId: string) =>
    wordOf(await inventory.sell(someOrder(voucher.id, userId), voucher, freeLease));
  const first = buy(one, '1'); // It stands still in the middle of its transaction.
  await untilLocked(one, voucher, 1);
  expect(await buy(two, '2')).toBe('accepted');
  letOn.resolve();
  expect(await first).toBe('accepted');
});

test('a unit that another sale has locked is no sold-out: that sale may still roll back', async () => {
  const opened = open();
  const { inventory } = opened;
  const voucher = await onSale(opened, { stock: 1, lab: slow });
  let isChecking = false;
  const lost = timedLease('test', 0, async () => {});
  const assertHeld = () => {
    isChecking = true;
    lost.assertHeld();
  };
  const failing = inventory.sell(someOrder(voucher.id, '1'), voucher, { ...freeLease, assertHeld });
  await untilLocked(opened, voucher, 1);
  const during: string[] = [];
  while (!isChecking) {
    during.push(wordOf(await inventory.sell(someOrder(voucher.id, '2'), voucher, freeLease)));
    if (during.includes('accepted')) break;
  }
  expect(wordOf(await failing)).toBe('lease-lost');
  expect(during).not.toContain('sold-out');
  await waitUntil('the unit to be sold', 20_000, async () => {
    const outcome = await inventory.sell(someOrder(voucher.id, '3'), voucher, freeLease);
    return wordOf(outcome) !== 'conflict';
  });
  const late = await inventory.sell(someOrder(voucher.id, '4'), voucher, freeLease);
  expect(wordOf(late)).toBe('sold-out');
  expect(await recorded(opened, voucher)).toMatchObject({ left: 0, orders: 1, verdict: 'held' });
});

test('while all connections for sales are in use, a line that has an end waits, for a time', async () => {
  const opened = open({ connections: 1, waitingMax: 1, waitMs: 50 });
  const voucher = await onSale(opened, { stock: 5, lab: slow });
  const answered: string[] = [];
  const sales = usersOf(3).map(async (userId) => {
    const order = someOrder(voucher.id, userId);
    const outcome = await opened.inventory.sell(order, voucher, freeLease);
    answered.push(`${userId} ${wordOf(outcome)}`);
  });
  await Promise.all(sales);
  expect(answered).toEqual(['3 database-busy', '2 database-busy', '1 accepted']);
  expect(await recorded(opened, voucher)).toMatchObject({ left: 4, orders: 1, verdict: 'held' });
});

describe('the units of a new voucher', () => {
  const sale = {
    ...{ title: 'test', rung: 'unit-rows', stock: 5 },
    ...{ beginTime: new Date(0), endTime: new Date(4e12) },
  };

  test.each([0, 1, 2, 7, 1_000, 100_000])('are as many as its stock of %i', async (stock) => {
    const opened = open();
    const voucher = await onSale(opened, { stock });
    await opened.inventory.prepare(voucher);
    expect(await opened.inventory.remaining(voucher)).toBe(stock);
  });

  test('are refused above 100,000', async () => {
    await expect(onSale(open(), { stock: 100_001 })).rejects.toThrow(withCode('STOCK_TOO_LARGE'));
  });

  test('are inserted with the voucher: both or neither, and with one connection', async () => {
    const connections = testConnections({ MYSQL_POOL_SIZE: '1' });
    const pool = connections.mysql();
    const inventory = unitRows(pool, { ...roomy, connections: 1 });
    const vouchers = openVouchers(connections);
    const { id } = await vouchers.create(sale, inventory.prepare);
    expect(await inventory.remaining({ id })).toBe(5);

    let failedId = '';
    const failing = vouchers.create(sale, async (voucher, db) => {
      await inventory.prepare(voucher, db);
      failedId = voucher.id;
      throw new Error('the process fails before the commit');
    });
    await expect(failing).rejects.toThrow('before the commit');
    const rows = await select(pool, 'SELECT unit FROM voucher_units WHERE voucher_id = ?', [
      failedId,
    ]);
    expect(rows).toEqual([]);
  });
});
