/** Vouchers and orders for tests. */
import { randomInt, randomUUID } from 'node:crypto';
import { waitsForReplicas } from '../../src/service/config.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import type { Order, Voucher } from '../../src/service/domain.ts';
import type { Inventory } from '../../src/service/inventory/inventory.ts';
import { luaBuckets } from '../../src/service/inventory/lua-buckets.ts';
import { luaStream } from '../../src/service/inventory/lua-stream.ts';
import { openQueues } from '../../src/service/ladder/open-rung.ts';
import { snowflakes } from '../../src/service/order-ids/snowflake.ts';
import type { Terms } from '../../src/service/orders/reconcile/sale.ts';
import { openVouchers } from '../../src/service/purchase/vouchers.ts';
import type { OrderQueue } from '../../src/service/queues/order-queue.ts';
import { quiet } from './connections.ts';
import { always } from './order-ids.ts';

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
