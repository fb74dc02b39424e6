/** The pipeline as another program uses it: from a client of its own, with keys of its own. */
import { Redis } from 'ioredis';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { OwnRedis } from '../../src/lab/environment/own-redis.ts';
import {
  clientOptions,
  type Delivery,
  type Handle,
  type Order,
  type Sale,
  type SalePipeline,
  salePipeline,
} from '../../src/service/exports/pipeline.ts';
import { startOwnRedis } from '../support/servers.ts';

const sale: Sale = {
  ...{ id: '9', stock: 3 },
  ...{ beginTime: new Date(Date.now() - 1_000), endTime: new Date(Date.now() + 60_000) },
};
const orderOf = (userId: string, changes: Partial<Order> = {}): Order => ({
  ...{ id: `1${userId}`, voucherId: sale.id, userId, requestId: 'first' },
  ...changes,
});

let server: OwnRedis;
let redis: Redis;
let pipeline: SalePipeline;
beforeEach(async () => {
  server = await startOwnRedis();
  redis = new Redis(server.url, clientOptions);
  redis.on('error', () => {});
  onTestFinished(() => redis.disconnect());
  pipeline = salePipeline(redis, { keyPrefix: 'shop:', gatherMs: 0 });
});

const sell = (userId: string, changes?: Partial<Order>) =>
  pipeline.sell(orderOf(userId, changes), sale);
const kindOf = async (userId: string) => (await sell(userId)).kind;

/** Until so many deliveries came; each is settled if `isSettled` says so. */
async function deliveries(count: number, isSettled: (delivery: Delivery) => boolean) {
  const seen: Delivery[] = [];
  const stop = new AbortController();
  const handle = async (batch: readonly Delivery[]) => {
    seen.push(...batch);
    if (seen.length >= count) stop.abort();
    return new Set(batch.filter(isSettled).map(({ order }) => order.id));
  };
  await pipeline.consume(handle, stop.signal);
  return seen;
}

test('one to each user, as many as there are, and each order is delivered', async () => {
  await pipeline.prepare(sale);
  const outcomes = await Promise.all(['1', '2', '3', '4', '5'].map((user) => sell(user)));
  expect(outcomes.filter(({ kind }) => kind === 'accepted')).toHaveLength(3);
  const soldOut = outcomes.filter((each) => each.kind === 'refused' && each.reason === 'sold-out');
  expect(soldOut).toHaveLength(2);
  const winner = outcomes.findIndex(({ kind }) => kind === 'accepted') + 1;
  expect(await sell(`${winner}`, { id: '99' })).toEqual(outcomes[winner - 1]);
  const second = await sell(`${winner}`, { id: '99', requestId: 'second' });
  expect(second).toMatchObject({ kind: 'refused', reason: 'already-ordered' });
  expect([await pipeline.remaining(sale.id), await pipeline.depth()]).toEqual([0, 3]);
  const delivered = await deliveries(3, () => true);
  expect(delivered.map(({ order }) => order.requestId)).toEqual(['first', 'first', 'first']);
  expect(await pipeline.depth()).toBe(0);
});

test('an order that the handler does not settle is delivered again, and the others are not', async () => {
  await pipeline.prepare(sale);
  await sell('1');
  await sell('2');
  pipeline = salePipeline(redis, { keyPrefix: 'shop:', claimIdleMs: 100 });
  const seen = await deliveries(3, ({ order, attempt }) => order.userId === '1' || attempt > 1);
  expect(seen.map(({ order, attempt }) => [order.userId, attempt])).toEqual([
    ['1', 1],
    ['2', 1],
    ['2', 2],
  ]);
});

test('its keys begin with its prefix, and another prefix is another sale', async () => {
  await pipeline.prepare(sale);
  await sell('1');
  const other = salePipeline(redis, { keyPrefix: 'other:' });
  expect(await other.remaining(sale.id)).toBeNull();
  await deliveries(1, () => true);
  const names = await redis.keys('*');
  expect(names.filter((name) => !name.startsWith('shop:'))).toEqual([]);
  expect(names).toContain('shop:{sale:0}:voucher:9');
});

test('a sale is prepared once, whatever it is prepared with afterwards, and removed', async () => {
  await Promise.all([pipeline.prepare(sale), pipeline.prepare(sale)]);
  const taken = 'another sale has the id 9';
  await expect(pipeline.prepare({ ...sale, stock: 4 })).rejects.toThrow(taken);
  await sell('1');
  await pipeline.prepare(sale); // As a process does that starts during the sale.
  expect(await pipeline.remaining(sale.id)).toBe(2);
  const others = [{ stock: 2 }, { endTime: new Date(sale.endTime.getTime() + 1) }];
  for (const other of others)
    await expect(pipeline.prepare({ ...sale, ...other })).rejects.toThrow(taken);
  await deliveries(1, () => true);
  await pipeline.remove(sale.id);
  expect(await pipeline.remaining(sale.id)).toBeNull();
  expect(await redis.keys('*:9*')).toEqual([]);
});

test.each<[string, Handle, string]>([
  ['throws', () => Promise.reject(new Error('no database')), 'no database'],
  ['returns no set', (async () => ['11']) as unknown as Handle, 'must return the Set'],
])(
  'a handler that %s ends the consumer with its error, and its order is kept',
  async (_, handle, error) => {
    await pipeline.prepare(sale);
    await sell('1');
    await expect(pipeline.consume(handle, new AbortController().signal)).rejects.toThrow(error);
    pipeline = salePipeline(redis, { keyPrefix: 'shop:', claimIdleMs: 100 });
    expect(await deliveries(1, () => true)).toMatchObject([{ order: { userId: '1' }, attempt: 2 }]);
  },
);

test('an order that must be on a replica is unknown while there is none', async () => {
  pipeline = salePipeline(redis, { waitForReplicas: 1 });
  await pipeline.prepare(sale);
  expect(await sell('1')).toMatchObject({ kind: 'unknown', orderId: '11' });
});

test('a purchase that Redis does not answer is unknown, and the next one is sold', async () => {
  await pipeline.prepare(sale);
  await server.pause();
  expect(await sell('1')).toMatchObject({ kind: 'unknown' });
  await server.resume();
  await expect.poll(() => kindOf('2')).toBe('accepted');
});

describe('nothing is sold, and an error says why', () => {
  test.each<[string, Partial<Order>, RegExp]>([
    ['an id of zero', { id: '0' }, /orderId is not an id/],
    ['a user with a name', { userId: 'anna' }, /userId is not an id/],
    ['a request without a name', { requestId: '' }, /requestId is not 1 to 64/],
    ['another sale', { voucherId: '8' }, /voucherId is not the sale/],
  ])('of an order: %s', async (_, changes, error) => {
    await pipeline.prepare(sale);
    await expect(sell('7', changes)).rejects.toThrow(error);
    expect([await pipeline.remaining(sale.id), await pipeline.depth()]).toEqual([3, 0]);
  });

  test.each<[string, Partial<Sale>, RegExp]>([
    ['an id with a letter', { id: 'a' }, /"a" is not an id/],
    ['no stock', { stock: 0 }, /stock is not a whole number from 1/],
    ['half a voucher', { stock: 1.5 }, /stock is not a whole number from 1/],
    ['an end before its begin', { endTime: new Date(0) }, /beginTime is not before endTime/],
    ['a date that is none', { beginTime: new Date(Number.NaN) }, /beginTime is not before endTime/],
  ])('of a sale: %s', async (_, changes, error) => {
    await expect(pipeline.prepare({ ...sale, ...changes })).rejects.toThrow(error);
    expect(await redis.dbsize()).toBe(0);
  });

  test('of a question about an id that is none', async () => {
    await expect(pipeline.remaining('abc')).rejects.toThrow('"abc" is not an id');
    await expect(pipeline.remove('0')).rejects.toThrow('"0" is not an id');
  });

  test('of a sale that was never prepared', async () => {
    expect(await sell('7')).toMatchObject({ kind: 'refused', reason: 'not-ready' });
    expect(await pipeline.depth()).toBe(0);
  });
});

test('an order id that another order has sells nothing, and says nothing of the other', async () => {
  await pipeline.prepare(sale);
  await sell('1', { id: '77' });
  await expect(sell('2', { id: '77' })).rejects.toThrow('the id belongs to another order');
  expect(await pipeline.remaining(sale.id)).toBe(2);
  expect(await sell('2', { id: '78' })).toMatchObject({ kind: 'accepted', orderId: '78' });
});

test.each([
  ...[Number.NaN, 0, 1.5, 1e9, '5' as unknown as number].map((batchSize) => ({ batchSize })),
  ...[{ gatherMs: -1 }, { claimIdleMs: Number.NaN }, { claimIdleMs: 0 }, { retireIdleMs: 0 }],
])('the options %o are refused at once', (options) => {
  expect(() => salePipeline(redis, options)).toThrow(/is .*, and must be a whole number from/);
});

describe('a consumer ends with an error that no new connection mends', () => {
  const consume = () => pipeline.consume(async () => new Set(), new AbortController().signal);

  test.each<[string, RegExp, () => Promise<unknown>]>([
    [
      'no permission',
      /NOPERM/,
      async () => {
        await redis.call('ACL', 'SETUSER', 'shop', 'on', '>pw', '~*', '&*', '+@all', '-xreadgroup');
        const url = server.url.replace('redis://', 'redis://shop:pw@');
        redis = new Redis(url, clientOptions);
        pipeline = salePipeline(redis, { keyPrefix: 'shop:' });
      },
    ],
    ['a key of a wrong type', /WRONGTYPE/, () => redis.set('shop:{sale:0}:orders', 'text')],
    ['a client that was closed', /Connection is closed/, async () => redis.disconnect()],
  ])('%s', async (_, error, prepare) => {
    await prepare();
    onTestFinished(() => redis.disconnect());
    await expect(consume()).rejects.toThrow(error);
  });

  test('a client that is closed while it consumes', async () => {
    const consuming = consume();
    await expect.poll(() => redis.exists('shop:{sale:0}:orders')).toBe(1);
    redis.disconnect();
    await expect(consuming).rejects.toThrow(/closed|writeable/);
  });
});

test('of an error that a new connection mends, a consumer tells, and goes on', async () => {
  await pipeline.prepare(sale);
  const errors: unknown[] = [];
  const stop = new AbortController();
  const seen: string[] = [];
  const handle: Handle = async (batch) => {
    for (const { order } of batch) seen.push(order.userId);
    return new Set(batch.map(({ order }) => order.id));
  };
  const consuming = pipeline.consume(handle, stop.signal, {
    onError: (error) => errors.push(error),
  });
  await sell('1');
  await expect.poll(() => seen).toEqual(['1']);
  expect(errors).toEqual([]);
  await server.pause();
  await expect.poll(() => errors.length).toBeGreaterThan(0);
  await server.resume();
  await expect.poll(() => kindOf('2')).toBe('accepted');
  await expect.poll(() => seen).toEqual(['1', '2']);
  stop.abort();
  await consuming;
});
