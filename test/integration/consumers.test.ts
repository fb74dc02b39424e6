/**
 * The consumers of the order stream: what was handed to a connection that died is handled again at
 * once, and a consumer that is gone leaves no name behind.
 */
import type { Redis } from 'ioredis';
import { beforeEach, describe, expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { orderGroup } from '../../src/service/connections/sale-keys.ts';
import { ConsumerProgress } from '../../src/service/processes/watch-consumers.ts';
import type { OrderQueue } from '../../src/service/queues/order-queue.ts';
import {
  redisStreamGroupQueue,
  type StreamGroupOptions,
} from '../../src/service/queues/redis-stream-group.ts';
import { callsOf, quietRedis, readyConnections, testConnections } from '../support/connections.ts';
import { consume, idsIn, type Settle, someOrder } from '../support/sale.ts';
import { startOwnRedis } from '../support/servers.ts';
import { proxyBefore, type TestProxy } from '../support/test-proxy.ts';

/** Nothing is claimed in these tests: an order that nobody handles would stay for minutes. */
const neverClaimed = { claimIdleMs: 600_000, gatherMs: 0 };
const voucherId = '7';
let direct: Connections;
let redis: Redis;
let queue: OrderQueue;

beforeEach(async () => {
  direct = await readyConnections({ REDIS_URL: quietRedis() });
  redis = direct.redis('admin');
  const { orders, queued } = direct.saleKeys.of(voucherId);
  await redis.del(orders, queued);
  queue = redisStreamGroupQueue(redis, direct.saleKeys, neverClaimed);
});

const stream = () => direct.saleKeys.of(voucherId).orders;

async function publish(count: number, to = queue): Promise<string[]> {
  const orders = Array.from({ length: count }, (_, index) => someOrder(voucherId, `${index + 1}`));
  for (const order of orders) await to.publish(order);
  return orders.map(({ id }) => id);
}

/** A proxy for each of the consumer's two connections. */
async function consumerBehindProxies() {
  const forAdmin = await proxyBefore(quietRedis());
  const forConsumer = await proxyBefore(quietRedis());
  const through = ({ url }: TestProxy) => testConnections({ REDIS_URL: url });
  const admin = through(forAdmin);
  const blocking = through(forConsumer).newRedis('consumer');
  const own = redisStreamGroupQueue(admin.redis('admin'), admin.saleKeys, {
    ...neverClaimed,
    newConsumer: () => blocking,
  });
  await admin.ready();
  return { own, blocking, forAdmin, forConsumer };
}

const pending = async (): Promise<number> =>
  Number(((await redis.xpending(stream(), orderGroup)) as [number])[0]);

/** A queue whose consumers claim what was idle for so long. */
const claiming = (claimIdleMs: number, more: StreamGroupOptions = {}) =>
  redisStreamGroupQueue(redis, direct.saleKeys, { gatherMs: 0, claimIdleMs, ...more });

/** How often a consumer has looked for idle entries. */
const claims = () => callsOf(redis, 'xautoclaim');

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const isSettled = async () => (await redis.xlen(stream())) === 0 && (await pending()) === 0;
const untilSettled = () => waitUntil('every order to be settled', 20_000, isSettled);

/** An order is settled. Then, round by round, this happens, and its orders are settled too. */
async function settlesAll(rounds: number, by: OrderQueue, happens: () => Promise<string[]>) {
  const { delivered } = consume(redis, by);
  const expected = await publish(1);
  await untilSettled();
  for (let round = 0; round < rounds; round++) {
    expected.push(...(await happens()));
    await untilSettled();
  }
  expect([...new Set(delivered())].toSorted()).toEqual(expected.toSorted());
  return delivered();
}

describe('an order is handled, and not left pending', () => {
  test('when Redis was away, and has orders as soon as it is back', async () => {
    const { own, forAdmin, forConsumer } = await consumerBehindProxies();
    const delivered = await settlesAll(3, own, async () => {
      const before = await publish(9);
      await untilSettled();
      for (const proxy of [forAdmin, forConsumer]) proxy.cut();
      const meanwhile = await publish(50);
      await pause(1_500); // Longer than a read blocks, so that reads fail in all their stages.
      for (const proxy of [forAdmin, forConsumer]) proxy.mend();
      return [...before, ...meanwhile];
    });
    expect(new Set(delivered).size).toBe(delivered.length);
  });

  test('when Redis was killed, and has orders as soon as it is back', async () => {
    const own = await startOwnRedis();
    const there = testConnections({ REDIS_URL: own.url });
    const worker = testConnections({ REDIS_URL: own.url });
    const open = (connections: Connections) =>
      redisStreamGroupQueue(connections.redis('admin'), connections.saleKeys, {
        ...neverClaimed,
        newConsumer: () => connections.newRedis('consumer'),
      });
    const [publisher, consumer] = [open(there), open(worker)];
    await Promise.all([there.ready(), worker.ready()]);
    const { delivered } = consume(there.redis('admin'), consumer);
    const expected: string[] = [];
    for (let round = 0; round < 3; round++) {
      await own.kill();
      await pause(1_500);
      await own.start();
      const answers = async () => (await there.redis('admin').ping()) === 'PONG';
      await waitUntil('an answer on the new connection', 20_000, answers);
      expected.push(...(await publish(50, publisher)));
      await waitUntil('every order', 20_000, async () => (await publisher.depth()) === 0);
    }
    expect([...new Set(delivered())].toSorted()).toEqual(expected.toSorted());
  });

  test('when the consumer group was lost, also an order that was there before', async () => {
    await settlesAll(3, queue, async () => {
      await redis.xgroup('DESTROY', stream(), orderGroup);
      return publish(5);
    });
  });

  test('when the connection died with the answer that had the order', async () => {
    const { own, forConsumer } = await consumerBehindProxies();
    await settlesAll(3, own, async () => {
      forConsumer.swallowNextAnswer();
      return publish(1);
    });
  });

  test('when Redis served a connection that had been dead for a while', async () => {
    const { own, forConsumer } = await consumerBehindProxies();
    await settlesAll(1, own, async () => {
      forConsumer.freeze();
      return publish(1);
    });
  });

  test('when Redis still served the old connection after it was replaced', async () => {
    const { own, blocking, forConsumer } = await consumerBehindProxies();
    const untilIs = (status: string) =>
      waitUntil('the new connection', 20_000, () => blocking.status === status);
    await settlesAll(4, own, async () => {
      forConsumer.freeze(); // So that Redis does not hear of the end.
      blocking.disconnect(true);
      await untilIs('reconnecting');
      await untilIs('ready');
      const published: string[] = [];
      for (let count = 0; count < 5; count++) {
        published.push(...(await publish(1)));
        await pause(50);
      }
      return published;
    });
  });

  test('when its acknowledgement failed, because only that connection was away', async () => {
    const { own, forAdmin } = await consumerBehindProxies();
    const { batches, delivered } = consume(redis, own, (deliveries, batch) => {
      if (batch === 1) forAdmin.cut();
      return idsIn(deliveries);
    });
    const expected = await publish(5);
    await waitUntil('the acknowledgement to fail', 20_000, () => batches.length > 0);
    await pause(1_000);
    expect(await pending()).toBeGreaterThan(0);
    forAdmin.mend();
    await untilSettled();
    expect([...new Set(delivered())].toSorted()).toEqual(expected.toSorted());
  });
});

describe('while every order of a large backlog is refused', () => {
  test('consumers do not claim it again and again, and take all of it once it is recorded', async () => {
    const count = 3_000;
    const orders = Array.from({ length: count }, (_, user) => someOrder(voucherId, `${user + 1}`));
    await Promise.all(orders.map((order) => queue.publish(order)));
    let isRefused = true;
    const settle: Settle = (deliveries) => (isRefused ? [] : idsIn(deliveries));
    const two = [0, 1].map(() => consume(redis, claiming(100, { batchSize: 100 }), settle));
    const before = await claims();
    await pause(4_000);
    expect((await claims()) - before).toBeLessThan(40);
    expect(two.flatMap(({ delivered }) => delivered()).length).toBeLessThan(count);
    isRefused = false;
    await untilSettled();
  });

  test('a consumer that pauses ends at once when it is stopped', async () => {
    await publish(1);
    const endsAtOnce = async () => {
      const { batches, end } = consume(redis, claiming(50), () => []);
      await waitUntil('a pause of 1.6 s', 20_000, () => batches.length >= 6);
      const stoppedAt = performance.now();
      await end();
      return performance.now() - stoppedAt < 1_000;
    };
    // A machine that stands still for a moment does not do so each time.
    expect((await endsAtOnce()) || (await endsAtOnce()) || (await endsAtOnce())).toBe(true);
  });
});

describe('a consumer without orders', () => {
  /** It is asked and has no orders. @returns whether that is progress. */
  async function looks(progress: ConsumerProgress): Promise<boolean> {
    progress.turned(0);
    progress.settled(0);
    const [oldest] = (await queue.oldest?.()) ?? [];
    return progress.look(oldest);
  }

  test('makes progress while the oldest order is delivered to others, and only then', async () => {
    await publish(1);
    const idle = new ConsumerProgress();
    await looks(idle);
    expect(await looks(idle)).toBe(false);
    await redis.xgroup('CREATE', stream(), orderGroup, '0');
    const take = ['COUNT', 1, 'STREAMS', stream(), '>'] as const;
    await redis.xreadgroup('GROUP', orderGroup, 'another', ...take);
    for (let delivery = 1; delivery <= 3; delivery++) {
      expect(await looks(idle)).toBe(true);
      expect(await looks(idle)).toBe(false);
      await redis.xautoclaim(stream(), orderGroup, 'another', 0, '0-0');
    }
  });
});

describe('the name of a consumer', () => {
  const names = async (): Promise<string[]> => {
    const consumers = (await redis.xinfo('CONSUMERS', stream(), orderGroup)) as string[][];
    return consumers.map((fields) => fields[fields.indexOf('name') + 1] ?? '');
  };

  test('goes with a clean stop', async () => {
    await publish(3);
    const { end } = consume(redis, queue);
    await untilSettled();
    expect(await names()).toHaveLength(1);
    await end();
    expect(await names()).toEqual([]);
  });

  test('stays with a clean stop while an order is pending for it', async () => {
    const [id] = await publish(1);
    const { batches, end } = consume(redis, queue, () => []);
    await waitUntil('the order to be taken', 20_000, () => batches.length > 0);
    await end();
    expect(await names()).toHaveLength(1);
    expect(await pending()).toBe(1);
    const { delivered } = consume(redis, claiming(100));
    await untilSettled();
    expect(delivered()).toEqual([id]);
  });

  test('of a dead process is removed by another one, but not while an order is pending for it', async () => {
    const [id] = await publish(1);
    await redis.xgroup('CREATE', stream(), orderGroup, '0');
    const take = ['COUNT', 1, 'STREAMS', stream(), '>'] as const;
    await redis.xreadgroup('GROUP', orderGroup, 'dead-with-an-order', ...take);
    await redis.xgroup('CREATECONSUMER', stream(), orderGroup, 'dead-with-nothing');
    const { delivered } = consume(redis, claiming(10_000, { retireIdleMs: 300 }));
    const until = (isTrue: (known: string[]) => boolean) =>
      waitUntil('a name to be removed', 20_000, async () => isTrue(await names()));
    await until((known) => !known.includes('dead-with-nothing'));
    expect(delivered()).toEqual([]);
    expect(await names()).toContain('dead-with-an-order');
    const claimer = consume(redis, claiming(100, { retireIdleMs: 300 }));
    await untilSettled();
    expect(claimer.delivered()).toEqual([id]);
    await until((known) => !known.includes('dead-with-an-order'));
  });

  test('of a live process stays, although it has no order', async () => {
    await publish(1);
    consume(redis, claiming(50));
    await untilSettled();
    await redis.xgroup('CREATECONSUMER', stream(), orderGroup, 'just-seen');
    const before = await claims();
    await waitUntil('some sweeps', 20_000, async () => (await claims()) > before + 5);
    expect(await names()).toContain('just-seen');
  });
});
