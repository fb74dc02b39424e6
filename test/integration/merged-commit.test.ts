/** The batches of merged-commit, on two pools where it matters: each process has its own. */
import { describe, expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { audit } from '../../src/service/audit/audit.ts';
import { collectFacts } from '../../src/service/audit/collect.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import {
  change,
  type PoolConnection,
  type RowDataPacket,
} from '../../src/service/connections/mysql.ts';
import { destroyConnections } from '../../src/service/connections/mysql-pool.ts';
import type { Order, Outcome, Voucher } from '../../src/service/domain.ts';
import { mergedCommit } from '../../src/service/inventory/merged-commit.ts';
import { endlessLease, timedLease } from '../../src/service/locks/shared/leases.ts';
import { testConnections } from '../support/connections.ts';
import { ownLab } from '../support/own-lab.ts';
import { someOrder, someVoucher } from '../support/sale.ts';
import { proxyBefore } from '../support/test-proxy.ts';

const lease = endlessLease(async () => {});
/** No buyer is late, however slow the machine is. */
const limits = { gatherMs: 5, batchSize: 250, waitingMax: 5_000, waitMs: 60_000 };
const slow = { rails: false, workMs: 30, retries: 0 };

const voucherOf = (connections: Connections, changes: Partial<Voucher> = {}) =>
  someVoucher(connections, { rung: 'merged-commit', ...changes });

const usersOf = (count: number) => Array.from({ length: count }, (_, index) => String(index + 1));
const kinds = (outcomes: readonly Outcome[]) =>
  outcomes.map((outcome) => (outcome.kind === 'refused' ? outcome.reason : outcome.kind)).sort();

/** Stock and orders of the voucher in MySQL, and what the audit says about them. */
async function recorded(connections: Connections, { id }: Voucher) {
  connections.redis('admin');
  await connections.ready();
  const facts = await collectFacts(connections, id);
  if (!facts) throw new Error('the voucher is gone');
  const { stock, orders } = facts.mysql;
  const { findings } = audit(facts);
  const isExact = findings.some(
    ({ check, verdict }) => check === 'no-oversell' && verdict === 'held',
  );
  return { stock, isExact, orders: orders.map(({ id: orderId }) => orderId).sort() };
}

function twoProcesses(batchSize: number) {
  const connections = [testConnections(), testConnections()] as const;
  const [first, second] = connections.map((each) =>
    mergedCommit(each.mysql(), { ...limits, batchSize }),
  );
  if (!first || !second) throw new Error('two inventories are needed');
  return { connections: connections[0], processes: [first, second] as const };
}

describe('two processes', () => {
  test('sell exactly the stock to many users, and record every accepted order', async () => {
    const { connections, processes } = twoProcesses(5);
    const voucher = await voucherOf(connections, { stock: 33, lab: slow });
    const orders = usersOf(60).map((userId) => someOrder(voucher.id, userId));
    const outcomes = await Promise.all(
      orders.map((order, index) => processes[index % 2 ? 1 : 0].sell(order, voucher, lease)),
    );
    const accepted = outcomes.flatMap((each) => (each.kind === 'accepted' ? [each.orderId] : []));
    expect(accepted).toHaveLength(33);
    expect(new Set(kinds(outcomes))).toEqual(new Set(['accepted', 'sold-out']));
    expect(await recorded(connections, voucher)).toEqual({
      ...{ stock: 0, isExact: true, orders: accepted.sort() },
    });
  });

  test('sell one to a user who asks both at once, also without the unique key', async () => {
    const { connections, processes } = twoProcesses(5);
    const voucher = await voucherOf(connections, { stock: 50, lab: slow });
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        processes[index % 2 ? 1 : 0].sell(someOrder(voucher.id, '7'), voucher, lease),
      ),
    );
    const refusals = Array.from({ length: 19 }, () => 'already-ordered');
    expect(kinds(outcomes)).toEqual(['accepted', ...refusals]);
    expect(await recorded(connections, voucher)).toMatchObject({ stock: 49, isExact: true });
  });
});

describe('in one batch', () => {
  test('two users buy, and the second request of one is named the order of the first', async () => {
    const connections = testConnections();
    const inventory = mergedCommit(connections.mysql(), limits);
    const voucher = await voucherOf(connections, { stock: 5 });
    const [one, two] = [someOrder(voucher.id, '1', 'once'), someOrder(voucher.id, '2')];
    const outcomes = await Promise.all(
      [one, two, someOrder(voucher.id, '1'), someOrder(voucher.id, '1', 'once')].map((order) =>
        inventory.sell(order, voucher, lease),
      ),
    );
    expect(outcomes).toEqual([
      { kind: 'accepted', orderId: one.id, status: 'confirmed' },
      { kind: 'accepted', orderId: two.id, status: 'confirmed' },
      { kind: 'refused', reason: 'already-ordered', orderId: one.id },
      { kind: 'accepted', orderId: one.id, status: 'confirmed' },
    ]);
    expect(await recorded(connections, voucher)).toEqual({
      ...{ stock: 3, isExact: true, orders: [one.id, two.id].sort() },
    });
  });

  test.each([
    ['has a taken id', 'rejected'],
    ['lost its lease', 'lease-lost'],
  ])('an order that %s is refused by itself, and the others are sold', async (name, expected) => {
    const connections = testConnections();
    const inventory = mergedCommit(connections.mysql(), limits);
    const voucher = await voucherOf(connections, { stock: 5 });
    const other = await voucherOf(connections);
    const taken = someOrder(other.id, '9');
    await inventory.sell(taken, other, lease);
    const bad: Order = { ...someOrder(voucher.id, '2'), ...(expected === 'rejected' && taken) };
    const badOrder = { ...bad, voucherId: voucher.id };
    const badLease = name === 'lost its lease' ? timedLease('test', 0, async () => {}) : lease;
    const sales = await Promise.allSettled([
      inventory.sell(someOrder(voucher.id, '1'), voucher, lease),
      inventory.sell(badOrder, voucher, badLease),
      inventory.sell(someOrder(voucher.id, '3'), voucher, lease),
    ]);
    const seen = sales.map((sale) =>
      sale.status === 'rejected' ? ['rejected'] : kinds([sale.value]),
    );
    expect(seen.flat()).toEqual(['accepted', expected, 'accepted']);
    expect(await recorded(connections, voucher)).toMatchObject({ stock: 3, isExact: true });
  });
});

/** How often a connection was taken from the pool: once for each batch. */
function countBatches(connections: Connections): () => number {
  let count = 0;
  connections.mysql().pool.on('acquire', () => {
    count += 1;
  });
  return () => count;
}

test('buyers who come while a batch commits are the next batch, of a limited size', async () => {
  const connections = testConnections();
  const voucher = await voucherOf(connections, { stock: 50, lab: { ...slow, workMs: 100 } });
  const inventory = mergedCommit(connections.mysql(), { ...limits, batchSize: 10 });
  const batches = countBatches(connections);
  const first = inventory.sell(someOrder(voucher.id, '1'), voucher, lease);
  await waitUntil('the first batch', 20_000, () => batches() === 1);
  const later = usersOf(25).map((userId) =>
    inventory.sell(someOrder(voucher.id, `1${userId}`), voucher, lease),
  );
  await Promise.all([first, ...later]);
  expect(batches()).toBe(1 + 3);
});

test('when too many wait already, the next buyer is refused at once as database-busy', async () => {
  const connections = testConnections();
  const voucher = await voucherOf(connections, { stock: 50, lab: { ...slow, workMs: 200 } });
  const inventory = mergedCommit(connections.mysql(), { ...limits, batchSize: 1, waitingMax: 2 });
  const sales = usersOf(5).map((userId) =>
    inventory.sell(someOrder(voucher.id, userId), voucher, lease),
  );
  expect(kinds(await Promise.all(sales))).toEqual([
    ...['accepted', 'accepted', 'database-busy', 'database-busy', 'database-busy'],
  ]);
});

test('a buyer who waits too long for a batch is refused as database-busy', async () => {
  const connections = testConnections();
  const voucher = await voucherOf(connections, { stock: 50, lab: { ...slow, workMs: 900 } });
  const inventory = mergedCommit(connections.mysql(), { ...limits, batchSize: 1, waitMs: 600 });
  const sales = usersOf(3).map((userId) =>
    inventory.sell(someOrder(voucher.id, userId), voucher, lease),
  );
  expect(kinds(await Promise.all(sales))).toEqual(['accepted', 'database-busy', 'database-busy']);
  expect(await recorded(connections, voucher)).toMatchObject({ stock: 49, isExact: true });
});

describe('a fault', () => {
  test('during COMMIT: unknown for every buyer, and a repeated request finds its order', async () => {
    const proxy = await proxyBefore(ownLab.environment['MYSQL_URL'] ?? '');
    const connections = testConnections({ MYSQL_URL: proxy.url, MYSQL_POOL_SIZE: '1' });
    const voucher = await voucherOf(testConnections(), { stock: 10 });
    const inventory = mergedCommit(connections.mysql(), limits);
    // The batch looks at its leases right before COMMIT: the next answer is the one to COMMIT.
    const lookBeforeCommit = { ...lease, assertHeld: () => proxy.swallowNextAnswer() };
    const orders = ['7', '8', '9'].map((userId) => someOrder(voucher.id, userId));
    const outcomes = await Promise.all(
      orders.map((order, index) =>
        inventory.sell(order, voucher, index === 2 ? lookBeforeCommit : lease),
      ),
    );
    expect(outcomes).toMatchObject(orders.map(({ id }) => ({ kind: 'unknown', orderId: id })));
    expect(await inventory.remaining(voucher)).toBe(7);
    for (const { id, userId, requestId } of orders)
      expect(
        await inventory.sell(someOrder(voucher.id, userId, requestId), voucher, lease),
      ).toMatchObject({ kind: 'accepted', orderId: id });
    expect(await inventory.remaining(voucher)).toBe(7);
  });

  test('before COMMIT: every buyer gets the error, nothing is sold, and the next buyer buys', async () => {
    const connections = testConnections();
    const pool = connections.mysql();
    const voucher = await voucherOf(connections, { stock: 10 });
    const inventory = mergedCommit(pool, limits);
    const lost = new Error('the connection is lost');
    const lookBeforeCommit = { ...lease, assertHeld: () => destroyConnections(pool, lost) };
    const sales = await Promise.allSettled(
      ['7', '8'].map((userId) =>
        inventory.sell(
          someOrder(voucher.id, userId),
          voucher,
          userId === '8' ? lookBeforeCommit : lease,
        ),
      ),
    );
    const isSold = sales.some(
      (sale) => sale.status === 'fulfilled' && sale.value.kind !== 'unknown',
    );
    expect(isSold).toBe(false);
    // MySQL may still be rolling back.
    await waitUntil('the next sale', 20_000, async () => {
      const outcome = await inventory.sell(someOrder(voucher.id, '9'), voucher, lease);
      return outcome.kind !== 'refused' || outcome.reason === 'already-ordered';
    });
    expect(await recorded(connections, voucher)).toMatchObject({ isExact: true, stock: 9 });
  });

  test('1205, the row is locked for too long: all are refused as database-busy', async () => {
    const connections = testConnections();
    const pool = connections.mysql();
    const voucher = await voucherOf(connections, { stock: 10 });
    const inventory = mergedCommit(pool, limits);
    const other = await pool.getConnection();
    await other.beginTransaction();
    await change(other, 'UPDATE seckill_stock SET stock = stock WHERE voucher_id = ?', [
      voucher.id,
    ]);
    const sales = ['7', '8'].map((userId) =>
      inventory.sell(someOrder(voucher.id, userId), voucher, lease),
    );
    expect(kinds(await Promise.all(sales))).toEqual(['database-busy', 'database-busy']);
    await other.rollback();
    other.release();
    const after = await inventory.sell(someOrder(voucher.id, '7'), voucher, lease);
    expect(after.kind).toBe('accepted');
    expect(await recorded(connections, voucher)).toMatchObject({ stock: 9, isExact: true });
  });

  test('1213, a deadlock with another writer: all are refused, and nothing is sold', async () => {
    const connections = testConnections();
    const pool = connections.mysql();
    const rails = { ...slow, workMs: 0, rails: true };
    const voucher = await voucherOf(connections, { stock: 10, lab: rails });
    const inventory = mergedCommit(pool, limits);
    const other = await pool.getConnection();
    await other.beginTransaction();
    // The transaction with fewer changes is rolled back: the other one has many.
    for (const userId of usersOf(40)) await insertOrder(other, someOrder(voucher.id, userId));
    const sales = ['1', '2', '99'].map((userId) =>
      inventory.sell(someOrder(voucher.id, userId), voucher, lease),
    );
    await waitUntil('the batch to wait', 20_000, () => isInserting(connections));
    await change(other, 'UPDATE seckill_stock SET stock = stock - 40 WHERE voucher_id = ?', [
      voucher.id,
    ]);
    expect(kinds(await Promise.all(sales))).toEqual(
      Array.from({ length: 3 }, () => 'database-busy'),
    );
    await other.rollback();
    other.release();
    expect(await recorded(connections, voucher)).toMatchObject({ stock: 10, orders: [] });
  });
});

interface Session extends RowDataPacket {
  readonly Info: string | null;
}

const insertOrder = (db: PoolConnection, { id, voucherId, userId, requestId }: Order) =>
  change(
    db,
    'INSERT INTO orders (id, voucher_id, user_id, request_id, one_per_user) VALUES (?, ?, ?, ?, 1)',
    [id, voucherId, userId, requestId],
  );

async function isInserting(connections: Connections): Promise<boolean> {
  const [sessions] = await connections.mysql().query<Session[]>('SHOW PROCESSLIST');
  return sessions.some(({ Info }) => Info?.startsWith('INSERT INTO orders'));
}
