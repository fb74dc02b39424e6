/** Vouchers and orders for tests, sold and recorded in the test's own process. */
import { randomInt, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { collectFacts } from '../../src/service/audit/collect.ts';
import type { Facts } from '../../src/service/audit/facts.ts';
import { waitsForReplicas } from '../../src/service/config.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { select } from '../../src/service/connections/mysql.ts';
import type { Order, Outcome, Voucher } from '../../src/service/domain.ts';
import type { Inventory } from '../../src/service/inventory/inventory.ts';
import { luaBuckets } from '../../src/service/inventory/lua-buckets.ts';
import { luaStream } from '../../src/service/inventory/lua-stream.ts';
import { openQueues } from '../../src/service/ladder/open-rung.ts';
import { freeLease } from '../../src/service/locks/none.ts';
import { snowflakes } from '../../src/service/order-ids/snowflake.ts';
import type { Terms } from '../../src/service/orders/reconcile/differences.ts';
import { workOrders } from '../../src/service/orders/work-orders.ts';
import { openVouchers } from '../../src/service/purchase/vouchers.ts';
import type { Delivery, OrderQueue, Poison } from '../../src/service/queues/order-queue.ts';
import { always } from './basics.ts';
import { quiet } from './connections.ts';

const nextId = snowflakes(always(randomInt(1024)), quiet);
const hourMs = 3_600_000;

/** A voucher in MySQL whose sale is open, but not prepared in Redis. */
export function someVoucher(
  connections: Connections,
  changes: Partial<Voucher> = {},
): Promise<Voucher> {
  const [beginTime, endTime] = [new Date(Date.now() - hourMs), new Date(Date.now() + hourMs)];
  const voucher = {
    title: 'test',
    stock: 5,
    beginTime,
    endTime,
    rung: 'lua-stream',
    lab: { rails: false, workMs: 0, retries: 0 },
    ...changes,
  };
  return openVouchers(connections).create(voucher, async () => {});
}

export const someOrder = (
  voucherId: string,
  userId: string,
  requestId: string = randomUUID(),
): Order => ({
  id: nextId(),
  voucherId,
  userId,
  requestId,
});

/** Of a sale that no operator has changed. */
export const firstTerms = ({ beginTime, endTime }: Voucher): Terms => ({
  ...{ change: 0, changeBegunMs: '', paused: false },
  ...{ beginMs: beginTime.getTime(), endMs: endTime.getTime() },
});

export const someVoucherId = (): string => String(randomInt(1_000_000_000, 2_000_000_000));

/** The final rung's inventory on these connections. */
export const openLuaStream = (connections: Connections): Inventory =>
  luaStream(connections.redis('purchase'), connections.saleKeys, {
    epoch: connections.epoch,
    waitForReplicas: waitsForReplicas(connections.config),
  });

/** A voucher of the final rung that these connections sell. */
export async function luaStreamSale(
  connections: Connections,
  changes: Partial<Voucher>,
): Promise<{ readonly inventory: Inventory; readonly voucher: Voucher }> {
  const inventory = openLuaStream(connections);
  await connections.ready();
  const voucher = await someVoucher(connections, changes);
  await inventory.prepare(voucher);
  return { inventory, voucher };
}

/** As a process has it that remembers nothing: of the final rung, or of buckets. */
export const inventoryOf = (connections: Connections, rung: string): Inventory =>
  rung === 'lua-buckets'
    ? luaBuckets(connections.redis('purchase'), connections.saleKeys, { epoch: connections.epoch })
    : openLuaStream(connections);

/** The final rung's queue on these connections. */
export function openStreamQueue(connections: Connections): OrderQueue {
  const [queue] = openQueues(['lua-stream'], connections);
  if (!queue) throw new Error('the final rung has no queue');
  return queue;
}

/** A voucher of the final rung, or of buckets, in both stores; nobody has bought yet. */
export function onSale(
  connections: Connections,
  stock: number,
  endsInMs = hourMs,
  more: Partial<Voucher> = {},
): Promise<Voucher> {
  const [beginTime, endTime] = [new Date(Date.now() - hourMs), new Date(Date.now() + endsInMs)];
  const sale = { title: 'test', stock, beginTime, endTime, rung: 'lua-stream', ...more };
  return openVouchers(connections).create(sale, inventoryOf(connections, sale.rung).prepare);
}

/** What the client is told, in one word. */
export const wordOf = (outcome: Outcome): string =>
  outcome.kind === 'refused' ? outcome.reason : outcome.kind;

/** What the audit reads of this voucher, which there must be. */
export async function factsOf(connections: Connections, voucherId: string): Promise<Facts> {
  const facts = await collectFacts(connections, voucherId);
  if (!facts) throw new Error('the voucher is gone');
  return facts;
}

const inventories = new WeakMap<Connections, Inventory>();

export async function buyOrder(
  connections: Connections,
  voucher: Voucher,
  order: Order,
): Promise<Outcome> {
  const inventory = inventories.get(connections) ?? openLuaStream(connections);
  inventories.set(connections, inventory);
  return inventory.sell(order, voucher, freeLease);
}

/** These users buy. @returns the orders that were accepted, under the ids that they have. */
export async function buyAs(
  connections: Connections,
  voucher: Voucher,
  users: readonly number[],
): Promise<Order[]> {
  const accepted: Order[] = [];
  for (const user of users) {
    const order = someOrder(voucher.id, String(user));
    const outcome = await buyOrder(connections, voucher, order);
    if (outcome.kind === 'accepted') accepted.push(order);
  }
  return accepted;
}

export const usersUpTo = (count: number, from = 1): number[] =>
  Array.from({ length: count }, (_, index) => from + index);

/** A worker; the function that is returned ends it. */
export function startWorker(connections: Connections): () => Promise<void> {
  const stop = new AbortController();
  const working = workOrders(connections, openStreamQueue(connections), quiet, stop.signal);
  return async () => {
    stop.abort();
    await wakeConsumers(connections.redis('admin'));
    await working;
  };
}

/** Consumers that block on an empty stream read it again at once, if Redis answers. */
export async function wakeConsumers(redis: Redis): Promise<void> {
  const clients = await redis.client('LIST').then(String, () => '');
  for (const [, id = ''] of clients.matchAll(/^id=(\d+) .* cmd=xreadgroup /gm))
    await redis.client('UNBLOCK', id).catch(() => {});
}

export async function workUntilEmpty(connections: Connections): Promise<void> {
  const stop = startWorker(connections);
  const queue = openStreamQueue(connections);
  await waitUntil('the queue to drain', 20_000, async () => (await queue.depth()) === 0).finally(
    stop,
  );
}

export async function inMysql({ id }: Voucher, connections: Connections) {
  const rows = await select<{ id: string; userId: string; status: string }>(
    connections.mysql(),
    'SELECT CAST(id AS CHAR) AS id, CAST(user_id AS CHAR) AS userId, status FROM orders WHERE voucher_id = ?',
    [id],
  );
  const confirmed = rows.filter(({ status }) => status === 'confirmed');
  return {
    confirmed,
    failed: rows.filter(({ status }) => status === 'failed'),
    users: new Set(confirmed.map(({ userId }) => userId)).size,
  };
}

/** @returns the ids that are settled. `batch` counts from 1. */
export type Settle = (
  deliveries: readonly Delivery[],
  batch: number,
) => readonly string[] | Promise<readonly string[]>;

export const idsIn = (deliveries: readonly Delivery[]): string[] =>
  deliveries.map(({ order }) => order.id);

/** Until `end`, or the end of the test. Without `settle`, everything is settled. */
export function consume(redis: Redis, queue: OrderQueue, settle: Settle = idsIn) {
  const batches: (readonly Delivery[])[] = [];
  const poisons: Poison[] = [];
  const stop = new AbortController();
  const consuming = queue.consume(
    async (deliveries) => new Set(await settle(deliveries, batches.push(deliveries))),
    stop.signal,
    { discard: async (poison) => poisons.push(poison) > 0 },
  );
  const end = async () => {
    stop.abort();
    await wakeConsumers(redis);
    await consuming;
  };
  onTestFinished(end);
  return { batches, poisons, delivered: () => idsIn(batches.flat()), end };
}
