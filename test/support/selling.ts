/** Sells and records in the test's own process, and counts what MySQL has. */
import type { Redis } from 'ioredis';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { select } from '../../src/service/connections/mysql.ts';
import type { Order, Outcome, Voucher } from '../../src/service/domain.ts';
import type { Inventory } from '../../src/service/inventory/inventory.ts';
import { freeLease } from '../../src/service/locks/none.ts';
import { workOrders } from '../../src/service/orders/order-worker.ts';
import { openVouchers } from '../../src/service/purchase/vouchers.ts';
import { quiet } from './connections.ts';
import { inventoryOf, openLuaStream, openStreamQueue, someOrder } from './sale.ts';

const hourMs = 3_600_000;

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
  await waitUntil('the queue to drain', 15_000, async () => (await queue.depth()) === 0).finally(
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
