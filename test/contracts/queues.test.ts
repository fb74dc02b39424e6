/** Runs the contract of order queues for every queue of the ladder, and for the outsider. */
import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Connections } from '../../src/service/connections/connections.ts';
import '../../src/lab/outsiders/outsiders.ts';
import { queueFactories } from '../../src/service/ladder/factories.ts';
import { openRung } from '../../src/service/ladder/open-rung.ts';
import { endlessLease } from '../../src/service/locks/shared/leases.ts';
import type { Handle, OrderQueue } from '../../src/service/queues/order-queue.ts';
import { openConnections, quietRedis } from '../support/connections.ts';
import { someOrder, someVoucher } from '../support/sale.ts';
import { type OwnRabbitmq, startOwnRabbitmq } from '../support/servers.ts';
import { type ClauseName, type Contestant, clauses } from './order-queue.ts';

type Exceptions = Partial<Record<ClauseName, string>>;

const unwatched: Exceptions = {
  'tells its watch of every turn, and of none while a batch is in hand':
    'its consumers are not watched',
};
const everyReader: Exceptions = {
  'gives each order to one of two consumers': 'every reader is given every order',
};
const lostWithItsConsumer = (why: string): Exceptions => ({
  'gives another consumer what the first one took and never settled': why,
});
const notKept = (why: string): Exceptions => ({
  'keeps what is published while no consumer runs, in order, and counts it': why,
});

/** The clauses that a queue fails on purpose, with the reason, by the first rung that has it. */
const exceptions: Readonly<Record<string, Exceptions>> = {
  memory: {
    ...unwatched,
    ...lostWithItsConsumer('only its own process has it'),
    'moves an entry that is no order to the dead letters, once its discard allows it':
      'nobody else can put an entry into it',
  },
  'redis-list': unwatched,
  'redis-pubsub': {
    ...unwatched,
    ...everyReader,
    ...notKept('Redis stores no message'),
    ...lostWithItsConsumer('Redis stores no message'),
  },
  'redis-stream': {
    ...unwatched,
    ...everyReader,
    ...notKept('its consumer starts at new entries'),
    'loses nothing at a stop: what it does not finish itself, another consumer is given':
      'the next consumer starts behind what the first one had not read',
    ...lostWithItsConsumer('the next consumer starts behind it'),
  },
  'redis-stream-last-id': everyReader,
  'bullmq-5s': {
    ...unwatched,
    'moves an entry that is no order to the dead letters, once its discard allows it':
      'its dead letters are the failed jobs of BullMQ',
  },
  rabbitmq: {
    ...unwatched,
    'moves an entry that is no order to the dead letters, once its discard allows it':
      'its dead letters are in RabbitMQ: test/integration/rabbitmq.test.ts',
  },
};

const noOrder = JSON.stringify(['orderId', 'not an id']);
const keyOf = (connections: Connections, name: string) =>
  connections.saleKeys.shards[0]?.queue(name) ?? '';

/** How an entry that is no order gets into each queue. */
const poisons: Readonly<Record<string, Contestant['poison']>> = {
  'redis-list': (c) => c.redis('admin').lpush(keyOf(c, 'list'), noOrder),
  'redis-list-reliable': (c) => c.redis('admin').lpush(keyOf(c, 'reliable-list'), noOrder),
  'redis-pubsub': (c) => c.redis('admin').publish(keyOf(c, 'channel'), noOrder),
  'redis-stream': (c) => c.redis('admin').xadd(keyOf(c, 'stream-from-new'), '*', 'a', 'b'),
  'redis-stream-last-id': (c) =>
    c.redis('admin').xadd(keyOf(c, 'stream-from-last-id'), '*', 'a', 'b'),
  'redis-commands': (c) => c.redis('admin').xadd(c.saleKeys.shards[0]?.orders ?? '', '*', 'a', 'b'),
};

const sayWhatIsInHand = ['redis-list-reliable', 'redis-commands'];

/** The two rows of BullMQ differ in their times only. */
const queues = [...queueFactories(), ...queueFactories(['bullmq-5s'])];

test('every exception belongs to a queue', () => {
  expect(queues.map(([name]) => name)).toEqual(expect.arrayContaining(Object.keys(exceptions)));
});

describe.each(queues)('the queue of %s', (name, open) => {
  const opened: Connections[] = [];
  let rabbitmq: OwnRabbitmq | undefined;
  if (name === 'rabbitmq')
    beforeAll(async () => {
      rabbitmq = await startOwnRabbitmq();
    }, 180_000);
  let contestant: Contestant;

  const openQueue = async (): Promise<[OrderQueue, Connections]> => {
    const connections = openConnections({
      REDIS_URL: quietRedis(),
      RABBITMQ_URL: rabbitmq?.url ?? '',
      // BullMQ takes a job from a live worker that is late to renew its lock.
      CLAIM_IDLE_MS: name === 'bullmq-5s' ? '5000' : '200',
      BATCH_GATHER_MS: '0',
    });
    opened.push(connections);
    connections.redis('admin');
    const result = open(connections);
    await connections.ready();
    return [result, connections];
  };

  beforeEach(async () => {
    await rabbitmq?.deleteQueues();
    const [queue, connections] = await openQueue();
    const redis = connections.redis('admin');
    for (const { orders, queued, dead, queue: of } of connections.saleKeys.shards) {
      const own = await redis.keys(of('*'));
      const ofOutsiders = await redis.keys('{lockstep-bullmq}*');
      await redis.del(orders, queued, dead, ...own, ...ofOutsiders);
    }
    contestant = {
      ...{ queue, connections, poison: poisons[name] ?? null },
      // BullMQ works on several jobs at once.
      ...{ withinMs: 10_000, isException: false, isInOrder: name !== 'bullmq-5s' },
      openOther: async () => (await openQueue())[0],
    };
  });
  afterAll(async () => {
    await Promise.all(opened.map((connections) => connections.close()));
    await rabbitmq?.stop();
  });

  test('counts the order that a consumer was given, if it says so, until it is settled', async () => {
    const { queue } = contestant;
    expect(queue.inHand !== undefined).toBe(sayWhatIsInHand.includes(name));
    expect(queue.isInHandUncounted === true).toBe(name === 'rabbitmq');
    if (!queue.inHand) return;
    expect(await queue.inHand()).toBe(0);
    const [stop, recorded] = [new AbortController(), new AbortController()];
    const handle: Handle = async (deliveries) => {
      if (!recorded.signal.aborted) await once(recorded.signal, 'abort');
      return new Set(deliveries.map(({ order }) => order.id));
    };
    const consuming = queue.consume(handle, stop.signal);
    await queue.publish(someOrder('7', '1'));
    await expect.poll(() => queue.inHand?.()).toBe(1);
    expect(await queue.depth()).toBe(1);
    recorded.abort();
    await expect.poll(() => queue.inHand?.()).toBe(0);
    stop.abort();
    await consuming;
  });

  for (const [clause, holds] of Object.entries(clauses)) {
    const reason = exceptions[name]?.[clause as ClauseName];
    const title = reason === undefined ? clause : `fails on purpose (${reason}): ${clause}`;
    test(title, async () => {
      // A condition that must not become true is not waited for so long.
      const isException = reason !== undefined;
      const withinMs = isException ? 1_500 : 10_000;
      expect(await holds({ ...contestant, isException, withinMs })).toBe(!isException);
    });
  }
});

/** A queue with a bound: the others are as large as their server's memory. */
describe.each(['memory'])('the full queue of %s', (rung) => {
  test('refuses before stock is taken, and has room again after an order is recorded', async () => {
    const connections = openConnections({ REDIS_URL: quietRedis(), QUEUE_LIMIT: '2' });
    connections.redis('admin');
    const { inventory, queue } = await openRung(rung, connections);
    const voucher = await someVoucher(connections, { rung, stock: 9 });
    await inventory.prepare(voucher);
    const lease = endlessLease(async () => {});
    const sell = (user: string) => inventory.sell(someOrder(voucher.id, user), voucher, lease);
    const outcomes = await Promise.all(['1', '2', '3', '4'].map(sell));
    const refusals = outcomes.filter(({ kind }) => kind === 'refused');
    expect(refusals).toEqual(Array(2).fill({ kind: 'refused', reason: 'queue-full' }));
    expect(await inventory.remaining(voucher)).toBe(7);
    const { buyers } = connections.saleKeys.of(voucher.id);
    expect(await connections.redis('admin').hlen(buyers(voucher.id))).toBe(2);

    const stop = new AbortController();
    const consuming = queue?.consume(
      async (deliveries) => new Set(deliveries.map(({ order }) => order.id)),
      stop.signal,
    );
    await expect.poll(() => queue?.depth()).toBe(0);
    expect(await sell('5')).toMatchObject({ kind: 'accepted' });
    stop.abort();
    await consuming;
    await connections.close();
  });
});
