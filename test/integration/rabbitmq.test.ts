/** The queue on RabbitMQ: attempts, dead letters, a bound, and lost connections. */
import { once } from 'node:events';
import { connect } from 'amqplib';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import type { Inventory } from '../../src/service/inventory/inventory.ts';
import { openRung } from '../../src/service/ladder/open-rung.ts';
import { endlessLease } from '../../src/service/locks/shared/leases.ts';
import type { Handle, OrderQueue } from '../../src/service/queues/order-queue.ts';
import { quietRedis, testConnections } from '../support/connections.ts';
import { someOrder, someVoucher } from '../support/sale.ts';
import { type OwnRabbitmq, startOwnRabbitmq } from '../support/servers.ts';

let rabbitmq: OwnRabbitmq;
beforeAll(async () => {
  rabbitmq = await startOwnRabbitmq();
}, 180_000);
afterAll(() => rabbitmq.stop());
beforeEach(() => rabbitmq.deleteQueues());

interface Opened {
  readonly connections: Connections;
  readonly inventory: Inventory;
  readonly queue: OrderQueue;
}

async function open(changes: Readonly<Record<string, string>> = {}): Promise<Opened> {
  const connections = testConnections({
    ...{ REDIS_URL: quietRedis(), RABBITMQ_URL: rabbitmq.url, BATCH_GATHER_MS: '0' },
    ...changes,
  });
  connections.redis('admin');
  const { inventory, queue } = await openRung('rabbitmq', connections);
  return { connections, inventory, queue: queue ?? expect.unreachable('it has a queue') };
}

async function onSale({ connections, inventory }: Opened) {
  const voucher = await someVoucher(connections, { rung: 'rabbitmq', stock: 20 });
  await inventory.prepare(voucher);
  const lease = endlessLease(async () => {});
  return {
    sell: async (user: number) =>
      inventory.sell(someOrder(voucher.id, String(user)), voucher, lease),
    stock: () => inventory.remaining(voucher),
    buyers: () =>
      connections.redis('admin').hlen(connections.saleKeys.of(voucher.id).buyers(voucher.id)),
  };
}

async function deadLetters(): Promise<string[]> {
  const connection = await connect(rabbitmq.url);
  const channel = await connection.createChannel();
  const texts: string[] = [];
  for (;;) {
    const message = await channel.get('lockstep.orders.dead', { noAck: true });
    if (!message) break;
    texts.push(message.content.toString());
  }
  await connection.close();
  return texts;
}

const inTime = { timeout: 10_000 };
const settleAll: Handle = async (deliveries) => new Set(deliveries.map(({ order }) => order.id));

test('an order whose worker dies five times is in the dead letters, and the attempts are counted', async () => {
  const { queue } = await open();
  const order = someOrder('7', '1');
  await queue.publish(order);
  const attempts: number[] = [];
  for (let death = 1; death <= 5; death++) {
    const worker = await open();
    const taken = Promise.withResolvers<void>();
    const neverAnswer: Handle = (deliveries) => {
      attempts.push(...deliveries.map(({ attempt }) => attempt));
      taken.resolve();
      return new Promise(() => {});
    };
    void worker.queue.consume(neverAnswer, new AbortController().signal);
    await taken.promise;
    await worker.connections.close(); // Without an acknowledgement.
  }
  await expect.poll(deadLetters, inTime).toEqual([expect.stringContaining(order.id)]);
  expect(attempts).toEqual([1, 2, 3, 4, 5]);
  expect(await queue.depth()).toBe(0); // Nobody is given it again.
});

test('the depth leaves out the order that a consumer was given, and the queue says so', async () => {
  const { queue } = await open();
  await queue.publish(someOrder('7', '1'));
  expect([await queue.depth(), queue.isInHandUncounted]).toEqual([1, true]);
  const stop = new AbortController();
  const recorded = new AbortController();
  const handle: Handle = async (deliveries) => {
    if (!recorded.signal.aborted) await once(recorded.signal, 'abort');
    return settleAll(deliveries);
  };
  const consuming = queue.consume(handle, stop.signal);
  await expect.poll(() => queue.depth()).toBe(0);
  recorded.abort();
  stop.abort();
  await consuming;
});

test('an entry that is no order is in the dead letters once its discard allows it', async () => {
  const { queue } = await open();
  await queue.publish(someOrder('7', '1'));
  await queue.publish({ ...someOrder('7', '2'), voucherId: 'none' });
  await queue.publish(someOrder('7', '3'));
  const causes: string[] = [];
  const seen: string[] = [];
  const keep: Handle = async (deliveries) => {
    seen.push(...deliveries.map(({ order }) => order.userId));
    return settleAll(deliveries);
  };
  const stop = new AbortController();
  const discard = async ({ cause }: { cause: string }) => causes.push(cause) > 1;
  const consuming = queue.consume(keep, stop.signal, { discard });
  await waitUntil('the others', 20_000, () => seen.length === 2 && causes.length === 2);
  stop.abort();
  await consuming;
  expect(seen).toEqual(['1', '3']);
  expect(causes).toEqual(['voucherId is not an id', 'voucherId is not an id']);
  expect(await deadLetters()).toHaveLength(1);
  expect(await queue.depth()).toBe(0);
});

test('a full queue gives back what was claimed', async () => {
  const opened = await open({ QUEUE_LIMIT: '2' });
  const { sell, stock, buyers } = await onSale(opened);
  const outcomes = [];
  for (let user = 1; user <= 12; user++) outcomes.push(await sell(user));
  const accepted = outcomes.filter(({ kind }) => kind === 'accepted').length;
  const refusals = outcomes.filter(({ kind }) => kind === 'refused');
  expect(accepted).toBeGreaterThanOrEqual(2);
  expect(refusals.length).toBeGreaterThan(0);
  expect(refusals).toEqual(refusals.map(() => ({ kind: 'refused', reason: 'queue-full' })));
  expect(outcomes).toHaveLength(accepted + refusals.length);
  expect(await stock()).toBe(20 - accepted);
  expect(await buyers()).toBe(accepted);
});

test('an order that no queue takes is refused, and its claim undone', async () => {
  const opened = await open();
  const { sell, stock, buyers } = await onSale(opened);
  expect(await sell(1)).toMatchObject({ kind: 'accepted' });
  await rabbitmq.deleteQueues(); // Behind the back of the connection.
  expect(await sell(2)).toEqual({ kind: 'refused', reason: 'not-ready' });
  expect(await stock()).toBe(19);
  expect(await buyers()).toBe(1);
});

test('without a confirm the outcome is unknown, and the sale goes on once it answers', async () => {
  const opened = await open({ PURCHASE_ANSWER_MS: '500' });
  const { sell, stock } = await onSale(opened);
  expect(await sell(1)).toMatchObject({ kind: 'accepted' });
  await rabbitmq.broker.pause();
  const outcome = await sell(2).finally(() => rabbitmq.broker.resume());
  expect(outcome).toMatchObject({ kind: 'unknown' });
  expect(await stock()).toBe(18); // It may be queued.
  let user = 2;
  const sells = async () => {
    user += 1;
    return (await sell(user)).kind === 'accepted';
  };
  await waitUntil('a confirm', 20_000, sells, 200);
}, 120_000);
