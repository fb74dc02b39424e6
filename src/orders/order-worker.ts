/**
 * Consumes accepted orders and records them: a batch in one transaction, or one by one when the
 * batch fails.
 */
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Connections } from '../connections/connections.ts';
import { isRowRefused } from '../connections/mysql.ts';
import type { SaleKeys } from '../connections/sale-keys.ts';
import type { Order } from '../domain.ts';
import { openVouchers } from '../purchase/vouchers.ts';
import type { Delivery, OnTurn, OrderQueue } from '../queues/order-queue.ts';
import { about, record } from '../trace/history.ts';
import { type DeadLetterReason, deadLetter } from './dead-letters.ts';
import { type Records, recordBatch, recordOne } from './record-orders.ts';

const maxDeliveries = 5;

interface Worker {
  readonly records: Records;
  readonly redis: Redis;
  readonly saleKeys: SaleKeys;
  readonly log: Logger;
}

/** Runs until `signal` aborts; the current batch is finished first. */
export async function workOrders(
  connections: Connections,
  queue: OrderQueue,
  log: Logger,
  signal: AbortSignal,
  onTurn?: OnTurn,
): Promise<void> {
  const worker = {
    records: { pool: connections.mysql(), vouchers: openVouchers(connections) },
    redis: connections.redis('admin'),
    saleKeys: connections.saleKeys,
    log,
  };
  await queue.consume((deliveries) => settleBatch(worker, deliveries), signal, onTurn);
}

/** @returns the ids of the orders that were settled: recorded or dead-lettered. */
async function settleBatch(
  worker: Worker,
  deliveries: readonly Delivery[],
): Promise<ReadonlySet<string>> {
  const orders = deliveries.map(({ order }) => order);
  try {
    await recordBatch(worker.records, orders);
  } catch (error) {
    worker.log.debug({ event: 'batch-refused', orders: orders.length, error: String(error) });
    return settleOneByOne(worker, deliveries);
  }
  for (const order of orders) traceRecorded(order);
  return new Set(orders.map(({ id }) => id));
}

/** Stops at an error that the next order would also get; the rest is delivered again. */
async function settleOneByOne(
  worker: Worker,
  deliveries: readonly Delivery[],
): Promise<ReadonlySet<string>> {
  const settled = new Set<string>();
  for (const { order, attempt } of deliveries) {
    try {
      await settleOne(worker, order, attempt);
      settled.add(order.id);
    } catch (error) {
      const cause = { orderId: order.id, attempt, error: String(error) };
      worker.log.warn({ event: 'order-not-recorded', ...cause });
      if (!isRowRefused(error)) break;
    }
  }
  return settled;
}

/**
 * While the database is down or busy, the order is retried without end. It is dead-lettered only
 * when the database refuses the order itself.
 */
async function settleOne(worker: Worker, order: Order, attempt: number): Promise<void> {
  const recording = await recordOne(worker.records, order).catch((error: unknown) => {
    if (attempt < maxDeliveries || !isRowRefused(error)) throw error;
    return 'undeliverable' as const;
  });
  if (recording === 'recorded') traceRecorded(order);
  else await discard(worker, order, recording);
}

async function discard(
  { records, redis, saleKeys, log }: Worker,
  order: Order,
  reason: DeadLetterReason,
): Promise<void> {
  await deadLetter(records.pool, redis, saleKeys, order, reason);
  record({ event: 'dead-lettered', reason, ...about(order) });
  log.error({ event: 'order-dead-lettered', orderId: order.id, reason });
}

const traceRecorded = (order: Order): void => record({ event: 'recorded', ...about(order) });
