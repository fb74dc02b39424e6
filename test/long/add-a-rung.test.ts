/**
 * A new lock is one file and one row, and so is a new queue: both are added to a copy of the
 * sources, which sells with them.
 */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import type { RungName } from '../../src/service/ladder/rungs.ts';
import { clauses } from '../contracts/lock.ts';
import { quiet, quietRedis } from '../support/connections.ts';
import { ownLab } from '../support/own-lab.ts';
import { someOrder } from '../support/sale.ts';
import { type Addition, copyWith, type SourceCopy } from '../support/source-copy.ts';

const lock: Addition = {
  rung: 'redis-demo',
  chapter: 3,
  file: 'service/locks/redis-demo.ts',
  source: `
    import type { Redis } from 'ioredis';
    import type { Lock } from './lock.ts';
    import { endlessLease } from './shared/leases.ts';
    import { pollingLock } from './shared/server-lock.ts';

    export const redisDemoLock = (redis: Redis): Lock =>
      pollingLock({ keyPrefix: 'demo:' }, async ({ key }) => {
        if ((await redis.set(key, 'locked', 'PX', 10_000, 'NX')) !== 'OK') return null;
        return endlessLease(async () => void (await redis.del(key)));
      });`,
  importLine: "import { redisDemoLock } from '../locks/redis-demo.ts';",
  row: "'redis-demo': rung({ chapter: 3, lock: (c) => redisDemoLock(c.redis('lock')) }),",
  idea: 'a lock of ten lines',
  lesson: 'A lock is a file and a row.',
};

const queue: Addition = {
  rung: 'array-demo',
  chapter: 5,
  file: 'service/queues/array-demo.ts',
  source: `
    import { setTimeout as sleep } from 'node:timers/promises';
    import type { Order } from '../domain.ts';
    import type { OrderQueue } from './order-queue.ts';

    const orders: Order[] = [];

    export const arrayQueue = (): OrderQueue => ({
      publish: async (order) => void orders.push(order),
      consume: async (handle, signal) => {
        for (; !signal.aborted; await sleep(5)) {
          const [order] = orders;
          if (!order) continue;
          const settled = await handle([{ order, attempt: 1 }]);
          if (settled.has(order.id)) orders.shift();
        }
      },
      depth: async () => orders.length,
    });`,
  importLine: "import { arrayQueue } from '../queues/array-demo.ts';",
  row: `'array-demo': rung({
    chapter: 5,
    inventory: (c, { queue }) => claimThenQueue(c.redis('purchase'), c.saleKeys, queue),
    queue: () => arrayQueue(),
  }),`,
  idea: 'a queue that is an array',
  lesson: 'A queue is a file and a row.',
};

let copy: SourceCopy;
beforeAll(async () => {
  copy = await copyWith(lock, queue);
}, 360_000);
afterAll(() => copy?.remove());

/** Connections of the copy's own class, to a Redis that the lab's workers do not read. */
async function openConnections(): Promise<Connections> {
  const { readConfig } = await copy.load('service/config');
  const opened = await copy.load('service/connections/connections');
  const environment = { ...ownLab.environment, REDIS_URL: quietRedis() };
  const connections = new opened.Connections(readConfig(environment), quiet);
  onTestFinished(() => connections.close());
  return connections;
}

/** A voucher that is sold by the copy's code, on the lab's servers. */
async function openSale(rung: string) {
  const { openVouchers } = await copy.load('service/purchase/vouchers');
  const { openRung } = await copy.load('service/ladder/open-rung');
  const connections = await openConnections();
  const { inventory, purchase } = await openRung(rung, connections);
  const sale = {
    ...{ title: 'test', stock: 5, rung, lab: { rails: false, workMs: 0, retries: 0 } },
    ...{ beginTime: new Date(Date.now() - 1_000), endTime: new Date(Date.now() + 60_000) },
  };
  const voucher = await openVouchers(connections).create(sale, inventory.prepare);
  const buy = (userId: string) => purchase(someOrder(voucher.id, userId), voucher);
  return { connections, inventory, voucher, buy };
}

test('each is one file, one row and its two texts', () => {
  const shared = ['service/ladder/rungs.ts', 'texts/en.ts', 'texts/zh.ts'];
  expect(copy.touched).toEqual([lock.file, queue.file, ...shared].sort());
});

describe.each([
  ['lock', lock],
  ['queue', queue],
] as const)('a new %s', (_, addition) => {
  test('is listed by `lockstep ladder` in both languages', async () => {
    const { rung, chapter, idea, lesson } = addition;
    for (const language of ['en', 'zh']) {
      const rows = JSON.parse(await copy.lockstep('ladder', '--json', '--language', language));
      expect(rows).toContainEqual(expect.objectContaining({ rung, chapter, idea, lesson }));
    }
  });

  test('sells', async () => {
    const { buy, inventory, voucher } = await openSale(addition.rung);
    const outcomes = await Promise.all(['1', '2', '2'].map(buy));
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['accepted', 'accepted', 'refused']);
    expect(await inventory.remaining(voucher)).toBe(3);
  });
});

/** The clauses that need no other process: those start from the compiled original. */
const clausesInProcess: readonly (keyof typeof clauses)[] = [
  'excludes others in the same process',
  'answers null after the wait, and not before',
  'tries once when the wait is 0',
  'is released once, however often release is called',
];

test.each(clausesInProcess)(
  'the contract opens the new lock through the table: it %s',
  async (name) => {
    const { lockFactories } = await copy.load('service/ladder/factories');
    const open = lockFactories().get(lock.rung as RungName);
    if (!open) throw new Error('the table does not have the new lock');
    const connections = await openConnections();
    const contestant = { name: lock.rung, lock: open(connections), connections, withinMs: 10_000 };
    await connections.ready();
    await clauses[name](contestant);
  },
);

test('a worker consumes the new queue through the table, and records its orders', async () => {
  const { openQueues } = await copy.load('service/ladder/open-rung');
  const { workOrders } = await copy.load('service/orders/work-orders');
  const { collectFacts } = await copy.load('service/audit/collect');
  const { audit } = await copy.load('service/audit/audit');
  const { connections, voucher, buy } = await openSale(queue.rung);
  const [opened] = openQueues([queue.rung as RungName], connections);
  if (!opened) throw new Error('the table does not have the new queue');
  await Promise.all(['1', '2', '3'].map(buy));
  expect(await opened.depth()).toBeGreaterThanOrEqual(3);

  const stop = new AbortController();
  const working = workOrders(connections, opened, quiet, stop.signal);
  await waitUntil('the queue to drain', 20_000, async () => (await opened.depth()) === 0);
  stop.abort();
  await working;
  const facts = await collectFacts(connections, voucher.id);
  expect(facts?.mysql.orders).toHaveLength(3);
  expect(facts && audit(facts)).toMatchObject({ verdict: 'held' });
});
