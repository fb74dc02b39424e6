/** The contract of order queues, run for every queue of the ladder. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { Connections } from '../../src/connections/connections.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { queueFactories } from '../../src/ladder/factories.ts';
import type { Delivery, Handle, OrderQueue } from '../../src/queues/order-queue.ts';
import { openConnections, quietRedis } from '../support/connections.ts';
import { someOrder } from '../support/sale.ts';

describe.each([...queueFactories()])('the queue of %s', (_name, open) => {
  const opened: Connections[] = [];
  let queue: OrderQueue;

  const openQueue = async (): Promise<[OrderQueue, Connections]> => {
    const connections = openConnections({
      REDIS_URL: quietRedis(),
      CLAIM_IDLE_MS: '200',
      BATCH_GATHER_MS: '0',
    });
    opened.push(connections);
    const result = open(connections);
    await connections.ready();
    return [result, connections];
  };

  beforeEach(async () => {
    const [fresh, connections] = await openQueue();
    for (const { orders, queued } of connections.saleKeys.shards)
      await connections.redis('admin').del(orders, queued);
    queue = fresh;
  });
  afterAll(() => Promise.all(opened.map((connections) => connections.close())));

  const settleAll: Handle = async (deliveries) => new Set(deliveries.map(({ order }) => order.id));

  /** Consumes with `handle` until `done`, then stops and waits for the consumer to leave. */
  async function consumeUntil(
    consumer: OrderQueue,
    handle: Handle,
    done: () => Promise<boolean> | boolean,
  ): Promise<void> {
    const stop = new AbortController();
    const consuming = consumer.consume(handle, stop.signal);
    await waitUntil('the consumer', 10_000, done).finally(() => stop.abort());
    await consuming;
  }

  test('delivers what was published, as it was published, and is then empty', async () => {
    const orders = ['1', '2', '9223372036854775807'].map((userId) =>
      someOrder('9223372036854775806', userId),
    );
    for (const order of orders) await queue.publish(order);
    expect(await queue.depth()).toBe(3);
    const seen: Delivery[] = [];
    const keep: Handle = async (deliveries) => {
      seen.push(...deliveries);
      return settleAll(deliveries);
    };
    await consumeUntil(queue, keep, async () => (await queue.depth()) === 0);
    expect(seen.map(({ order }) => order)).toEqual(orders);
    expect(seen.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
  });

  test('delivers again what was not settled, and counts the attempts', async () => {
    const order = someOrder('7', '1');
    await queue.publish(order);
    const attempts: number[] = [];
    const thirdTime: Handle = async ([delivery]) => {
      attempts.push(delivery?.attempt ?? 0);
      return new Set(attempts.length === 3 ? [order.id] : []);
    };
    await consumeUntil(queue, thirdTime, async () => (await queue.depth()) === 0);
    expect(attempts).toEqual([1, 2, 3]);
  });

  test('delivers to another consumer what the first one took and never settled', async () => {
    const order = someOrder('7', '1');
    await queue.publish(order);
    const [other] = await openQueue();
    let taken = false;
    const dies: Handle = async () => {
      taken = true;
      throw new Error('the consumer dies here');
    };
    await consumeUntil(queue, dies, () => taken);
    const seen: string[] = [];
    const keep: Handle = async (deliveries) => {
      seen.push(...deliveries.map((delivery) => delivery.order.id));
      return settleAll(deliveries);
    };
    await consumeUntil(other, keep, async () => (await other.depth()) === 0);
    expect(seen).toContain(order.id);
  });

  test('hands each order to one of two consumers when nothing goes wrong', async () => {
    const orders = Array.from({ length: 50 }, (_, index) =>
      someOrder('7', String(index + 1), randomUUID()),
    );
    const [other] = await openQueue();
    const seen: string[] = [];
    const keep: Handle = async (deliveries) => {
      seen.push(...deliveries.map((delivery) => delivery.order.id));
      return settleAll(deliveries);
    };
    const stop = new AbortController();
    const consuming = [queue, other].map((consumer) => consumer.consume(keep, stop.signal));
    await Promise.all(orders.map((order) => queue.publish(order)));
    await waitUntil('both consumers', 10_000, async () => (await queue.depth()) === 0);
    stop.abort();
    await Promise.all(consuming);
    expect(seen.toSorted()).toEqual(orders.map(({ id }) => id).toSorted());
  });

  test('turns while nothing is published, and not while a batch is in hand', async () => {
    const [other] = await openQueue();
    const stop = new AbortController();
    const turns = { own: 0, other: 0 };
    const count = (consumer: 'own' | 'other') => () => {
      turns[consumer] += 1;
    };
    const batch = { isInHand: false, finish: () => {} };
    const finished = new Promise<void>((resolve) => {
      batch.finish = resolve;
    });
    const slow: Handle = async (deliveries) => {
      batch.isInHand = true;
      await finished;
      return settleAll(deliveries);
    };
    const consuming = [queue.consume(slow, stop.signal, { onTurn: count('own') })];
    await waitUntil('three turns', 10_000, () => turns.own >= 3);
    await queue.publish(someOrder('7', '1'));
    await waitUntil('the batch', 10_000, () => batch.isInHand);
    const before = turns.own;
    consuming.push(other.consume(settleAll, stop.signal, { onTurn: count('other') }));
    await waitUntil('three turns of another consumer', 10_000, () => turns.other >= 3);
    expect(turns.own).toBe(before);
    batch.finish();
    stop.abort();
    await Promise.all(consuming);
  });
});
