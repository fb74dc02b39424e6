/**
 * A Redis without memory refuses writes that need some. A lock can be released all the same, and
 * its orders are recorded and removed: so it has memory again.
 */
import { expect, test } from 'vitest';
import { counts, type SalePlace, salePlaceOf } from '../../src/service/audit/collect.ts';
import type { RungName } from '../../src/service/ladder/rungs.ts';
import { asOneOwner } from '../../src/service/locks/shared/owner.ts';
import { discardLetter } from '../../src/service/orders/letters.ts';
import { reconcile } from '../../src/service/orders/reconcile/reconcile.ts';
import { valueOfSeries } from '../support/basics.ts';
import { openLock } from '../support/locks.ts';
import { ownSale } from '../support/own-sale.ts';
import { usersUpTo } from '../support/sale.ts';
import { startOwnRedis } from '../support/servers.ts';

async function redisThatFills() {
  const { url, admin } = await startOwnRedis();
  const memory = (limit: string) => admin.config('SET', 'maxmemory', limit);
  return { url, fill: () => memory('1'), clear: () => memory('0') };
}

async function ownLock(name: RungName) {
  const { url, fill, clear } = await redisThatFills();
  const { lock } = await openLock(name, { REDIS_URL: url });
  await (await lock.acquire('before', { waitMs: 0 }))?.release(); // Its scripts are known now.
  return { lock, fill, clear };
}

const some: RungName[] = ['redis-owner', 'redis-atomic', 'redis-message'];
const leased: RungName[] = ['redis-reentrant', 'redis-reentrant-lease', 'redis-spin'];
const reentrant: RungName[] = [...leased, 'redis-fair'];

test.each([...some, ...reentrant])('%s is released', async (name) => {
  const { lock, fill, clear } = await ownLock(name);
  const lease = await lock.acquire('seat', { waitMs: 0 });
  await fill();
  const refusal = await lease?.release().then(() => '', String);
  expect(refusal, refusal).toBe('');
  await clear();
  expect(await lock.acquire('seat', { waitMs: 0 })).not.toBeNull();
});

test.each(reentrant)('%s is released twice by an owner that acquired it twice', async (name) => {
  const { lock, fill, clear } = await ownLock(name);
  await asOneOwner(async () => {
    const leases = [1, 2].map(() => lock.acquire('seat', { waitMs: 0 }));
    await Promise.all(leases);
    await fill();
    for (const lease of leases) await (await lease)?.release();
  });
  await clear();
  expect(await lock.acquire('seat', { waitMs: 0 })).not.toBeNull();
});

// redis-fair looks after its line first: after such a write Redis takes the others too.
test.each(['redis-atomic', 'redis-reentrant'] as const)(
  '%s is refused, and says why',
  async (name) => {
    const { lock, fill } = await ownLock(name);
    await fill();
    await expect(lock.acquire('other', { waitMs: 0 })).rejects.toMatchObject({
      code: 'LOCK_SERVICE_UNAVAILABLE',
      message: expect.stringMatching(/the lock server refused: .*OOM/),
    });
  },
);

async function saleThatFills() {
  const { url, fill } = await redisThatFills();
  return { sale: await ownSale({ stock: 200 }, { REDIS_URL: url }), fill };
}

test('orders that fill Redis are recorded, each counted once, and the stores can be compared', async () => {
  const { sale, fill } = await saleThatFills();
  await sale.buyAs(usersUpTo(40));
  await sale.record();
  const counted = await recordedCount();
  await sale.buyAs(usersUpTo(40, 100));
  await sale.redis.xadd(sale.keys.orders, '*', 'orderId', 'no id');
  await sale.buyAs(usersUpTo(2, 200));
  await fill();
  expect(await sale.buy(999)).toMatchObject({ kind: 'refused', reason: 'not-ready' });
  await sale.record(); // Also past an entry that is no order.
  expect((await sale.recorded()).confirmed).toHaveLength(82);
  expect(await sale.letters()).toHaveLength(1);
  expect((await recordedCount()) - counted).toBe(42);
  expect(await reconcile(sale.connections)).toMatchObject({ verdict: 'consistent' });
  const place = (await salePlaceOf(sale.connections, sale.id)) as SalePlace;
  expect(await counts(sale.redis, place)).toBe('[["118",82,null]]');
});

test('a dead letter is discarded while Redis is full, once', async () => {
  const { sale, fill } = await saleThatFills();
  const id = `0-${await sale.redis.xadd(sale.keys.dead, '*', 'reason', 'stock-short')}`;
  await fill();
  expect(await discardLetter(sale.connections, id)).toMatchObject({ id, reason: 'stock-short' });
  await expect(discardLetter(sale.connections, id)).rejects.toThrow('There is no dead letter');
});

const recordedCount = async () =>
  (await valueOfSeries('lockstep_orders_settled_total{result="recorded"}')) ?? 0;
