/** Consumes accepted orders and records them: a batch in one transaction, one by one when the batch is refused. */
import type { Logger } from 'pino';
import type { Connections } from '../connections/connections.ts';
import { isAboutTheRow } from '../connections/mysql.ts';
import type { Order } from '../domain.ts';
import { openVouchers } from '../purchase/vouchers.ts';
import type { Delivery, OrderQueue } from '../queues/order-queue.ts';
import { about, record } from '../trace/history.ts';
import { type DeadLetterReason, deadLetter } from './dead-letters.ts';
import { recordBatch, recordOne } from './record-orders.ts';

const deliveriesAtMost = 5;

const recordDelivery = (order: Order) => record({ event: 'recorded', ...about(order) });

/** Runs until `signal` aborts; the batch in hand is finished first. */
export async function workOrders(
  connections: Connections,
  queue: OrderQueue,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const pool = connections.mysql();
  const redis = connections.redis('admin');
  const records = { pool, vouchers: openVouchers(connections) };

  async function handle(deliveries: readonly Delivery[]): Promise<ReadonlySet<string>> {
    try {
      await recordBatch(
        records,
        deliveries.map(({ order }) => order),
      );
      for (const { order } of deliveries) recordDelivery(order);
      return new Set(deliveries.map(({ order }) => order.id));
    } catch (error) {
      log.debug({ event: 'batch-refused', orders: deliveries.length, error: String(error) });
      return handleOneByOne(deliveries);
    }
  }

  /** Stops at an error that the next order would meet too; the rest is delivered again. */
  async function handleOneByOne(deliveries: readonly Delivery[]): Promise<ReadonlySet<string>> {
    const settled = new Set<string>();
    for (const { order, attempt } of deliveries) {
      try {
        await settleOne(order, attempt);
        settled.add(order.id);
      } catch (error) {
        log.warn({ event: 'order-not-recorded', orderId: order.id, attempt, error: String(error) });
        if (!isAboutTheRow(error)) break;
      }
    }
    return settled;
  }

  /** A database that is down or busy is retried without end; only an order that it refuses is dead-lettered. */
  async function settleOne(order: Order, attempt: number): Promise<void> {
    const recording = await recordOne(records, order).catch((error: unknown) => {
      if (attempt < deliveriesAtMost || !isAboutTheRow(error)) throw error;
      return 'undeliverable' as const;
    });
    if (recording === 'recorded') recordDelivery(order);
    else await discard(order, recording);
  }

  async function discard(order: Order, reason: DeadLetterReason): Promise<void> {
    await deadLetter(pool, redis, connections.saleKeys, order, reason);
    log.error({ event: 'order-dead-lettered', orderId: order.id, reason });
  }

  await queue.consume(handle, signal);
}
