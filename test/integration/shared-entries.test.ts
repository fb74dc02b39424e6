/**
 * The orders of one call of the script are one entry of the stream. Each of them is settled,
 * refused and delivered again as if it had an entry of its own.
 */
import type { Redis } from 'ioredis';
import { beforeEach, describe, expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import type { ShardKeys } from '../../src/service/connections/sale-keys.ts';
import type { Order } from '../../src/service/domain.ts';
import { reconcile } from '../../src/service/orders/reconcile/reconcile.ts';
import { repair } from '../../src/service/orders/reconcile/repair.ts';
import { recordOne } from '../../src/service/orders/record-orders.ts';
import type { Delivery, OrderQueue } from '../../src/service/queues/order-queue.ts';
import { redisStreamGroupQueue } from '../../src/service/queues/redis-stream-group.ts';
import { asFields } from '../../src/service/queues/shared/order-fields.ts';
import { acknowledge, streamReader } from '../../src/service/queues/shared/stream-reader.ts';
import { quietRedis } from '../support/connections.ts';
import { quietSale } from '../support/own-sale.ts';
import { openProcess } from '../support/own-stores.ts';
import { consume, idsIn, someOrder, usersUpTo } from '../support/sale.ts';

const soonMs = 30_000;
const voucherId = '7';
let connections: Connections;
let redis: Redis;
let shard: ShardKeys;

beforeEach(async () => {
  connections = await openProcess({ REDIS_URL: quietRedis() });
  redis = connections.redis('admin');
  shard = connections.saleKeys.of(voucherId);
  await redis.del(shard.orders, shard.queued, shard.dead);
});

const openQueue = (batchSize = 500): OrderQueue =>
  redisStreamGroupQueue(redis, connections.saleKeys, { batchSize, gatherMs: 0, claimIdleMs: 100 });

/** As the script adds them. */
async function addEntry(count: number, extra: readonly string[] = []): Promise<Order[]> {
  const orders = usersUpTo(count).map((user) => someOrder(voucherId, String(user)));
  await redis.xadd(shard.orders, '*', ...orders.flatMap(asFields), ...extra);
  for (const { id, userId } of orders) await redis.hset(shard.queued, id, `${voucherId}:${userId}`);
  return orders;
}

const untilEmpty = () =>
  waitUntil('the stream to be empty', soonMs, async () => (await redis.xlen(shard.orders)) === 0);

/** In one call of the script. */
async function soldAtOnce() {
  const sale = await quietSale({ stock: 5 });
  const orders = await Promise.all(usersUpTo(4).map((user) => sale.bought(user)));
  return { sale, orders };
}

describe('an entry of several orders', () => {
  test('is what one call of the script adds, and each order is recorded', async () => {
    const { sale, orders } = await soldAtOnce();
    expect(await redis.xlen(sale.keys.orders)).toBe(1);
    expect(await reconcile(connections, sale.id)).toMatchObject({ verdict: 'consistent' });
    await sale.record();
    await sale.expectConfirmed(...orders);
  });

  test('is repaired when a worker of an earlier version recorded the first order, and dropped the others', async () => {
    const { sale, orders } = await soldAtOnce();
    const [first] = orders as [Order];
    await redis.del(sale.keys.orders);
    await redis.hdel(sale.keys.queued, first.id);
    await recordOne(sale.records, first);
    await repair(connections, sale.id);
    await sale.record();
    await sale.expectConfirmed(...orders);
  });

  test('counts as so many orders, also those that a consumer has in hand', async () => {
    const queue = openQueue();
    await addEntry(3);
    await addEntry(2);
    expect(await queue.depth()).toBe(5);
    const { batches } = consume(redis, openQueue(), () => []);
    await expect.poll(() => batches.length, { timeout: soonMs }).toBeGreaterThan(0);
    expect(await queue.inHand?.()).toBe(5);
  });

  test('is delivered again whole when its consumer died before the acknowledgement', async () => {
    const orders = await addEntry(3);
    const dead = streamReader(redis, redis, shard, {
      ...{ batchSize: 500, claimIdleMs: 60_000, retireIdleMs: 60_000 },
    });
    await redis.xgroup('CREATE', shard.orders, 'recorders', '0').catch(() => {});
    await takenBy(dead);
    const { batches } = consume(redis, openQueue());
    await untilEmpty();
    expect(idsIn(batches.flat())).toEqual(orders.map(({ id }) => id));
    expect(batches.flat().every(({ attempt }) => attempt > 1)).toBe(true);
  });

  test('is split when one of them is refused: that one is delivered again, and alone', async () => {
    const [first, refused, last] = await addEntry(3);
    const others = (deliveries: readonly Delivery[], batch: number) =>
      idsIn(deliveries).filter((id) => batch > 1 || id !== refused?.id);
    const { batches } = consume(redis, openQueue(), others);
    await untilEmpty();
    expect(batches.map(idsIn)).toEqual([[first?.id, refused?.id, last?.id], [refused?.id]]);
    expect(await redis.hlen(shard.queued)).toBe(0);
  });

  test('stays whole while none of them can be recorded', async () => {
    const orders = await addEntry(3);
    const { batches } = consume(redis, openQueue(), (deliveries, batch) =>
      batch < 3 ? [] : idsIn(deliveries),
    );
    await untilEmpty();
    expect(batches.map(idsIn)).toEqual([1, 2, 3].map(() => orders.map(({ id }) => id)));
  });

  test('is split once, also by two consumers that both have it', async () => {
    const [first, second, third] = await addEntry(3);
    await redis.xgroup('CREATE', shard.orders, 'recorders', '0').catch(() => {});
    const options = { batchSize: 500, claimIdleMs: 0, retireIdleMs: 60_000 };
    const one = await takenBy(streamReader(redis, redis, shard, options));
    const other = await takenBy(streamReader(redis, redis, shard, options));
    const settled = new Set([first?.id ?? '']);
    await Promise.all([one, other].map((batch) => acknowledge(redis, shard, batch, settled)));
    const left = await redis.xrange(shard.orders, '-', '+');
    expect(left.map(([, fields]) => fields[1])).toEqual([second?.id, third?.id]);
  });

  test('with one that is no order: the others are recorded, and it is moved to the dead alone', async () => {
    const orders = await addEntry(2, ['orderId', '5', 'userId', '9']);
    const { batches, poisons } = consume(redis, openQueue());
    await untilEmpty();
    expect(batches.map(idsIn)).toEqual([orders.map(({ id }) => id)]);
    expect(poisons).toMatchObject([{ orderId: '5', cause: 'voucherId is missing' }]);
    const [letter, ...more] = await redis.xrange(shard.dead, '-', '+');
    expect(letter?.[1].slice(-4)).toEqual(['orderId', '5', 'userId', '9']);
    expect(more).toEqual([]);
  });

  test('of which no part is an order is moved to the dead, part by part', async () => {
    await redis.xadd(shard.orders, '*', ...['orderId', '5', 'userId', '9'], ...['orderId', '6']);
    const { poisons } = consume(redis, openQueue());
    await untilEmpty();
    expect(poisons.map(({ orderId }) => orderId)).toEqual(['5', '6']);
  });

  test('counts in the size of a batch: a backlog is no transaction of all its orders', async () => {
    for (let entries = 0; entries < 10; entries++) await addEntry(10);
    const { batches } = consume(redis, openQueue(30), idsIn);
    await untilEmpty();
    expect(batches.flat()).toHaveLength(100);
    expect(Math.max(...batches.map(({ length }) => length))).toBeLessThanOrEqual(30);
  });

  test('is not cut by a batch, and no batch grows with the entries that come', async () => {
    await addEntry(1);
    let isFirst = true;
    const whenBacklogged = async (deliveries: readonly Delivery[]) => {
      if (isFirst) for (let entries = 0; entries < 20; entries++) await addEntry(40);
      isFirst = false;
      return idsIn(deliveries);
    };
    const { batches } = consume(redis, openQueue(100), whenBacklogged);
    await expect.poll(() => batches.flat().length, { timeout: soonMs }).toBe(801);
    await untilEmpty();
    expect(batches.map(({ length }) => length)).toEqual([1, ...Array(10).fill(80)]);
  });

  test('with a part without its order id: that part is moved to the dead, wherever it is', async () => {
    const [one, other] = [someOrder(voucherId, '1'), someOrder(voucherId, '2')];
    const nameless = asFields(someOrder(voucherId, '3')).slice(2);
    const parts = [nameless, asFields(one), nameless, asFields(other)];
    await redis.xadd(shard.orders, '*', ...parts.flat());
    const { batches, poisons } = consume(redis, openQueue());
    await untilEmpty();
    expect(batches.flat().map(({ order }) => order)).toEqual([one, other]);
    expect(poisons.map(({ cause }) => cause)).toEqual(Array(2).fill('orderId is missing'));
    const letters = await redis.xrange(shard.dead, '-', '+');
    expect(letters.map(([, fields]) => fields.slice(-6))).toEqual([nameless, nameless]);
  });

  test.each([3_900, 4_100, 9_000, 40_000])(
    'with a part of %i fields that is no order: the others are settled, and it is dead alone',
    async (size) => {
      const large = ['orderId', '5', ...usersUpTo(size).map(String)];
      const orders = await addEntry(2, large);
      let deliveries = 0;
      const { batches, poisons } = consume(redis, openQueue(), (given) =>
        ++deliveries < 3 ? [] : idsIn(given),
      );
      await untilEmpty();
      expect(batches.flat().length).toBeGreaterThanOrEqual(3 * orders.length);
      expect(poisons.at(-1)).toMatchObject({ orderId: '5', cause: 'voucherId is missing' });
      const [letter, ...more] = await redis.xrange(shard.dead, '-', '+');
      expect(letter?.[1].slice(-large.length)).toEqual(large);
      expect(more).toEqual([]);
      expect(await redis.hlen(shard.queued)).toBe(0);
      expect(await redis.xpending(shard.orders, 'recorders')).toEqual([0, null, null, null]);
      const [next] = await addEntry(1);
      await untilEmpty();
      expect(batches.at(-1)?.map(({ order }) => order.id)).toEqual([next?.id]);
    },
  );

  test('with a part too large to be split off, of an order whose unit was taken: it is given back', async () => {
    const [order] = await addEntry(1, ['orderId', '6', ...usersUpTo(9_000).map(String)]);
    await redis.hset(shard.queued, '6', `${voucherId}:9`);
    const { poisons } = consume(redis, openQueue());
    await untilEmpty();
    expect(order).toBeDefined();
    expect(poisons).toMatchObject([{ orderId: '6', noted: { voucherId, userId: '9' } }]);
    expect(await redis.hlen(shard.queued)).toBe(0);
  });
});

/** Claims what another consumer has. */
async function takenBy(reader: ReturnType<typeof streamReader>) {
  for (;;) {
    const batch = await reader.next();
    if (batch.entries.length > 0) return batch.entries;
  }
}
