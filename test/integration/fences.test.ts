/** Fences on a real MySQL: they only grow, and no lease but the newest writes. */
import { expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { checkFence, nextFence } from '../../src/service/connections/fences.ts';
import { type Pool, select, transaction } from '../../src/service/connections/mysql.ts';
import { type Outcome, resourceOf } from '../../src/service/domain.ts';
import { LockServiceUnavailable } from '../../src/service/errors.ts';
import { fencedInsert } from '../../src/service/inventory/fenced-insert.ts';
import { fencedLock } from '../../src/service/locks/fenced.ts';
import { fencedByRedisLock } from '../../src/service/locks/fenced-by-redis.ts';
import type { Lease, Lock } from '../../src/service/locks/lock.ts';
import { noLock } from '../../src/service/locks/none.ts';
import { endlessLease } from '../../src/service/locks/shared/leases.ts';
import { testConnections } from '../support/connections.ts';
import { held, openLock } from '../support/locks.ts';
import { someOrder, someVoucher, someVoucherId } from '../support/sale.ts';
import { startOwnRedis } from '../support/servers.ts';

const someResource = () => `test:${someVoucherId()}`;
const lease = () => endlessLease(async () => {});
const grant = (lock: Lock, resource: string): Promise<Lease> => held(lock, resource, { waitMs: 0 });

test('every lease gets a larger fence than all before it, also from many connections at once', async () => {
  const pool = testConnections().mysql();
  const resource = someResource();
  const first = await nextFence(pool, resource);
  const together = await Promise.all(Array.from({ length: 40 }, () => nextFence(pool, resource)));
  const last = await nextFence(pool, resource);
  const fences = [first, ...together, last].map(BigInt);
  expect(new Set(fences).size).toBe(42);
  const ascending = fences.toSorted((one, other) => (one < other ? -1 : 1));
  expect([ascending[0], ascending.at(-1)]).toEqual([BigInt(first), BigInt(last)]);
});

test('fences of many resources are given at once', async () => {
  const pool = testConnections().mysql();
  const resources = Array.from({ length: 50 }, someResource);
  const fences = await Promise.all(
    [...resources, ...resources].map((resource) => nextFence(pool, resource)),
  );
  expect(fences.filter((fence) => fence === '1')).toHaveLength(50);
});

test('a lease has a larger fence than the one before it, also when Redis has lost its data', async () => {
  const { lock, connections } = await openLock('fenced', {
    REDIS_URL: (await startOwnRedis()).url,
  });
  const resource = someResource();
  for (const _ of [1, 2]) await (await grant(lock, resource)).release();
  const before = await grant(lock, resource);
  await connections.redis('lock').flushall();
  const after = await grant(lock, resource); // Both are owners now.
  expect(BigInt(after.fence ?? 0)).toBeGreaterThan(BigInt(before.fence ?? 0));
});

test('a fence that is counted in Redis grows, and comes again when Redis has lost its data', async () => {
  const connections = testConnections({ REDIS_URL: (await startOwnRedis()).url });
  const pool = connections.mysql();
  const redis = connections.redis('lock');
  await connections.ready();
  const resource = someResource();
  const lock = fencedByRedisLock(noLock(), redis, pool);
  const write = ({ fence = '' }: Lease) =>
    transaction(pool, 'READ COMMITTED', (db) => checkFence(db, resource, fence));
  const first = await grant(lock, resource);
  const second = await grant(lock, resource);
  expect([first.fence, second.fence]).toEqual(['1', '2']);
  await expect(write(first)).rejects.toMatchObject({ code: 'STALE_FENCE' });
  await write(second);
  await redis.flushall();
  const forgotten = [await grant(lock, resource), await grant(lock, resource)];
  expect(forgotten.map(({ fence }) => fence)).toEqual(['1', '2']);
  await write(second);
  await write(forgotten[1] ?? expect.unreachable());
});

test('a sale under an old fence sells nothing, although its lease says that it is held', async () => {
  const connections = testConnections();
  const pool = connections.mysql();
  const voucher = await someVoucher(connections);
  const [stale, current] = [someOrder(voucher.id, '7'), someOrder(voucher.id, '7')];
  const lock = fencedLock(noLock(), pool); // Everybody gets it, as from a Redis that forgot.
  const resource = resourceOf('user', stale);
  const [older, newer] = [await grant(lock, resource), await grant(lock, resource)];
  const inventory = fencedInsert(pool, 'user');
  expect(() => older.assertHeld()).not.toThrow();
  const refusal = { kind: 'refused', reason: 'stale-fence' };
  expect(await inventory.sell(stale, voucher, older)).toEqual(refusal);
  expect(await inventory.remaining(voucher)).toBe(voucher.stock);
  expect(await inventory.sell(current, voucher, newer)).toMatchObject({ kind: 'accepted' });
  expect(await inventory.sell(stale, voucher, older)).toMatchObject({
    ...{ reason: 'already-ordered', orderId: current.id },
  });
});

/** True while a grant of a fence waits in MySQL. */
async function isGrantWaiting(pool: Pool): Promise<boolean> {
  const running = await select<{ statement: string }>(
    pool,
    "SELECT info AS statement FROM information_schema.processlist WHERE info LIKE 'INSERT INTO fences%'",
  );
  return running.length > 0;
}

/** Its next connection does this right before its COMMIT. */
async function beforeCommit(pool: Pool, work: () => Promise<void>): Promise<Pool> {
  const connection = await pool.getConnection();
  const commit = connection.commit.bind(connection);
  connection.commit = async () => {
    await work();
    await commit();
  };
  const next = [connection];
  const getConnection = async () => next.pop() ?? pool.getConnection();
  return Object.assign(Object.create(pool), { getConnection });
}

test('between a fence and its commit no newer lease is granted: the next sale sees the order', async () => {
  const connections = testConnections();
  const pool = connections.mysql();
  const voucher = await someVoucher(connections);
  const [first, second] = [someOrder(voucher.id, '7'), someOrder(voucher.id, '7')];
  const lock = fencedLock(noLock(), pool);
  const resource = resourceOf('user', first);
  const lease = await grant(lock, resource);
  let next: Promise<Outcome> | undefined;
  const stalled = await beforeCommit(pool, async () => {
    const refused = lock.acquire(resource, { waitMs: 0 });
    await expect(refused).rejects.toBeInstanceOf(LockServiceUnavailable);
    next = lock
      .acquire(resource, { waitMs: 30_000 })
      .then((later) => fencedInsert(pool, 'user').sell(second, voucher, later as Lease));
    await waitUntil('the grant to wait', 20_000, () => isGrantWaiting(pool));
  });
  const sold = await fencedInsert(stalled, 'user').sell(first, voucher, lease);
  expect(sold).toMatchObject({ kind: 'accepted' });
  expect(await next).toMatchObject({ reason: 'already-ordered', orderId: first.id });
});

test('an inventory with a fence needs a lock that gives fences', async () => {
  const connections = testConnections();
  const voucher = await someVoucher(connections);
  const sold = fencedInsert(connections.mysql(), 'user').sell(
    someOrder(voucher.id, '7'),
    voucher,
    lease(),
  );
  await expect(sold).rejects.toThrow('a lock whose leases have a fence');
});
