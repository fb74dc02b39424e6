/** The contract of order queues: each clause answers whether the queue keeps it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import type { Order } from '../../src/service/domain.ts';
import type { Delivery, Handle, Hooks, OrderQueue } from '../../src/service/queues/order-queue.ts';
import { someOrder } from '../support/sale.ts';

export interface Contestant {
  readonly queue: OrderQueue;
  readonly connections: Connections;
  /** The same queue, as another process opens it. */
  readonly openOther: () => Promise<OrderQueue>;
  /** Puts an entry into the queue that is not an order; null where nobody can. */
  readonly poison: ((connections: Connections) => Promise<unknown>) | null;
  /** One order after the other; otherwise several are handed out at once. */
  readonly isInOrder: boolean;
  /** The queue fails this clause on purpose. */
  readonly isException: boolean;
  /** How long a condition may take that should become true. */
  readonly withinMs: number;
}

type Clause = (contestant: Contestant) => Promise<boolean>;

/** A consumer that runs until it is stopped, and what it was given. */
interface Running {
  readonly seen: Delivery[];
  /** What was published before it listened, and is never delivered. */
  missed: number;
  readonly stop: () => Promise<void>;
}

export const settleAll: Handle = async (deliveries) =>
  new Set(deliveries.map(({ order }) => order.id));

/** The orders by which a test learns that a consumer listens. */
const probe = '9000000000000000000';
const isProbe = ({ order }: Delivery): boolean => order.voucherId === probe;

function run(queue: OrderQueue, handle: Handle = settleAll, hooks: Hooks = {}): Running {
  const seen: Delivery[] = [];
  const stop = new AbortController();
  const keep: Handle = async (deliveries) => {
    const probes = await settleAll(deliveries.filter(isProbe));
    const own = deliveries.filter((each) => !isProbe(each));
    seen.push(...deliveries);
    if (own.length === 0) return probes;
    return new Set([...probes, ...(await handle(own))]);
  };
  const consuming = queue.consume(keep, stop.signal, hooks);
  return {
    seen,
    missed: 0,
    async stop() {
      stop.abort();
      await consuming;
    },
  };
}

/** Starts a consumer, and waits until it is given what is published. */
async function listening(queue: OrderQueue, handle?: Handle, hooks?: Hooks): Promise<Running> {
  const running = run(queue, handle, hooks);
  const probes: string[] = [];
  const areHeard = () => ids(running.seen).includes(probes.at(-1) ?? '');
  while (!areHeard() && probes.length < 50) {
    const order = someOrder(probe, String(probes.length + 1));
    probes.push(order.id);
    await queue.publish(order);
    await happens(areHeard, 200);
  }
  running.missed = probes.filter((id) => !ids(running.seen).includes(id)).length;
  running.seen.length = 0;
  return running;
}

const ids = (deliveries: readonly Delivery[]): string[] => deliveries.map(({ order }) => order.id);
const someOrders = (count: number): Order[] =>
  Array.from({ length: count }, (_, index) => someOrder('7', String(index + 1)));
const happens = (condition: () => Promise<boolean> | boolean, withinMs: number) =>
  waitUntil('the queue', withinMs, condition).then(
    () => true,
    () => false,
  );

/** The same orders, and in the same order where the queue hands out one after the other. */
function isAsPublished({ isInOrder }: Contestant, { seen }: Running, orders: readonly Order[]) {
  const asText = (some: readonly Order[]) =>
    JSON.stringify(isInOrder ? some : some.toSorted((one, other) => (one.id < other.id ? -1 : 1)));
  return asText(seen.map(({ order }) => order)) === asText(orders);
}

const isEmpty =
  (queue: OrderQueue, { missed }: Running) =>
  async () =>
    (await queue.depth()) <= missed;

export const clauses = {
  'keeps what is published while no consumer runs, in order, and counts it': async (contestant) => {
    const { queue, withinMs } = contestant;
    const orders = ['1', '2', '9223372036854775807'].map((user) => someOrder('7', user));
    for (const order of orders) await queue.publish(order);
    const isCounted = (await queue.depth()) === 3;
    const consumer = run(queue);
    const areDelivered = await happens(() => consumer.seen.length >= 3, withinMs);
    await consumer.stop();
    return isCounted && areDelivered && isAsPublished(contestant, consumer, orders);
  },

  'delivers to a consumer that listens, in order, and is then empty': async (contestant) => {
    const { queue } = contestant;
    const consumer = await listening(queue);
    const orders = someOrders(20);
    for (const order of orders) await queue.publish(order);
    const areDelivered = await happens(() => consumer.seen.length >= 20, 10_000);
    const wasEmptied = await happens(isEmpty(queue, consumer), 10_000);
    await consumer.stop();
    const isFirst = consumer.seen.every(({ attempt }) => attempt === 1);
    return areDelivered && wasEmptied && isFirst && isAsPublished(contestant, consumer, orders);
  },

  'delivers again what was not settled, and counts the attempts': async ({ queue }) => {
    const attempts: number[] = [];
    const thirdTime: Handle = async (deliveries) => {
      attempts.push(...deliveries.map(({ attempt }) => attempt));
      return attempts.length >= 3 ? settleAll(deliveries) : new Set();
    };
    const consumer = await listening(queue, thirdTime);
    await queue.publish(someOrder('7', '1'));
    const areThree = await happens(() => attempts.length >= 3, 10_000);
    await consumer.stop();
    return areThree && attempts.join() === '1,2,3';
  },

  'delivers the other orders while one is refused again and again': async ({ queue }) => {
    const [poison, ...others] = someOrders(4) as [Order, ...Order[]];
    let isRefused = true;
    const refuse: Handle = async (deliveries) =>
      settleAll(deliveries.filter(({ order }) => !isRefused || order.id !== poison.id));
    const consumer = await listening(queue, refuse);
    for (const order of [poison, ...others]) await queue.publish(order);
    const wanted = ids(others.map((order) => ({ order, attempt: 1 })));
    const areDelivered = await happens(
      () => wanted.every((id) => ids(consumer.seen).includes(id)),
      10_000,
    );
    isRefused = false;
    await happens(isEmpty(queue, consumer), 10_000);
    await consumer.stop();
    return areDelivered;
  },

  'moves an entry that is no order to the dead letters, once its discard allows it': async ({
    queue,
    connections,
    poison,
  }) => {
    if (!poison) return false;
    const causes: string[] = [];
    // The first time MySQL is away.
    const discard: Hooks['discard'] = async ({ cause }) => causes.push(cause) > 1;
    const consumer = await listening(queue, settleAll, { discard });
    await poison(connections);
    await queue.publish(someOrder('7', '1'));
    const wasAskedTwice = await happens(() => causes.length === 2, 10_000);
    const [shard] = connections.saleKeys.shards;
    const letters = async () => connections.redis('admin').xlen(shard?.dead ?? '');
    const isDead = await happens(async () => (await letters()) === 1, 10_000);
    const isOtherDelivered = await happens(() => consumer.seen.length === 1, 10_000);
    const wasEmptied = await happens(isEmpty(queue, consumer), 10_000);
    await consumer.stop();
    return wasAskedTwice && isDead && isOtherDelivered && wasEmptied && causes.length === 2;
  },

  'finishes the batch in hand before it stops': async ({ queue }) => {
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
    let isInHand = false;
    let isDone = false;
    const slow: Handle = async (deliveries) => {
      isInHand = true;
      await finished;
      isDone = true;
      return settleAll(deliveries);
    };
    const consumer = await listening(queue, slow);
    await queue.publish(someOrder('7', '1'));
    await happens(() => isInHand, 10_000);
    const stopped = consumer.stop();
    await turn();
    const wasInHand = isInHand && !isDone;
    finish();
    await stopped;
    return wasInHand && isDone && (await isEmpty(queue, consumer)());
  },

  'loses nothing at a stop: what it does not finish itself, another consumer is given': async (
    contestant,
  ) => {
    const { queue, connections, withinMs } = contestant;
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
    const slow: Handle = async (deliveries) => {
      await finished;
      return settleAll(deliveries);
    };
    const first = await listening(queue, slow);
    const orders = someOrders(10);
    const [inHand, ...waiting] = orders as [Order, ...Order[]];
    await queue.publish(inHand);
    await happens(() => first.seen.length > 0, 10_000);
    for (const order of waiting) await queue.publish(order);
    await connections.redis('admin').ping(); // By now a subscriber has heard them.
    const stopped = first.stop();
    await turn();
    finish();
    await stopped;
    const second = run(await contestant.openOther());
    const seen = () => new Set(ids([...first.seen, ...second.seen]));
    const areDelivered = await happens(() => orders.every(({ id }) => seen().has(id)), withinMs);
    await second.stop();
    return areDelivered;
  },

  'gives another consumer what the first one took and never settled': async (contestant) => {
    const { queue, withinMs } = contestant;
    const fails: Handle = () => Promise.reject(new Error('the consumer dies here'));
    const first = await listening(queue, fails);
    const order = someOrder('7', '1');
    await queue.publish(order);
    await happens(() => first.seen.length > 0, 10_000);
    await first.stop();
    const second = run(await contestant.openOther());
    const isDelivered = await happens(() => ids(second.seen).includes(order.id), withinMs);
    await second.stop();
    return isDelivered;
  },

  'gives each order to one of two consumers': async ({ queue, openOther, isException }) => {
    const consumers: Running[] = [];
    // Nothing is settled before a second reader has read it; where there is none, at once.
    const slow: Handle = async (deliveries) => {
      const all = () => consumers.every(({ seen }) => seen.length >= 50);
      if (isException) await happens(all, 2_000);
      return settleAll(deliveries);
    };
    consumers.push(await listening(queue, slow), await listening(await openOther(), slow));
    for (const { seen } of consumers) seen.length = 0;
    const orders = someOrders(50);
    await Promise.all(orders.map((order) => queue.publish(order)));
    const seen = () => consumers.flatMap((consumer) => ids(consumer.seen));
    await happens(() => seen().length >= 50, 10_000);
    if (isException) await happens(() => seen().length > 50, 2_000);
    for (const consumer of consumers) await consumer.stop();
    const published = orders.map(({ id }) => id).toSorted();
    return JSON.stringify(seen().toSorted()) === JSON.stringify(published);
  },

  'carries the user in the order, and nothing of the publisher’s context': async ({ queue }) => {
    const user = new AsyncLocalStorage<string>();
    const contexts: (string | undefined)[] = [];
    const look: Handle = async (deliveries) => {
      contexts.push(user.getStore());
      return settleAll(deliveries);
    };
    const consumer = await listening(queue, look);
    await user.run('41', () => queue.publish(someOrder('7', user.getStore() ?? '')));
    await happens(() => contexts.length > 0, 10_000);
    await consumer.stop();
    const users = consumer.seen.map(({ order }) => order.userId);
    return users.join() === '41' && contexts.every((context) => context === undefined);
  },

  'tells its watch of every turn, and of none while a batch is in hand': async ({ queue }) => {
    if (!queue.oldest) return false;
    let turns = 0;
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
    let isInHand = false;
    const slow: Handle = async (deliveries) => {
      isInHand = true;
      await finished;
      return settleAll(deliveries);
    };
    const onTurn = () => {
      turns += 1;
    };
    const consumer = await listening(queue, slow, { onTurn });
    const before = turns;
    const doesTurn = await happens(() => turns >= before + 3, 10_000);
    await queue.publish(someOrder('7', '1'));
    await happens(() => isInHand, 10_000);
    const inHand = turns;
    const another = await queue.oldest(); // Takes as long as an answer of Redis.
    const isStill = turns === inHand && another.some((entry) => entry !== null);
    finish();
    await consumer.stop();
    return doesTurn && isStill;
  },
} satisfies Record<string, Clause>;

export type ClauseName = keyof typeof clauses;
