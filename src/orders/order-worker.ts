/**
 * Consumes accepted orders and records them: a batch in one transaction, or one by one when the
 * batch fails.
 */
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Connections } from '../connections/connections.ts';
import { isFull, isRowRefused, isStatementRefused } from '../connections/mysql.ts';
import { destroyConnections } from '../connections/mysql-pool.ts';
import type { SaleKeys } from '../connections/sale-keys.ts';
import type { Order } from '../domain.ts';
import { BatchTooSlow } from '../errors.ts';
import { openVouchers } from '../purchase/vouchers.ts';
import type { Delivery, Hooks, OrderQueue, Poison } from '../queues/order-queue.ts';
import { checkpointEach } from '../trace/checkpoints.ts';
import { record } from '../trace/history.ts';
import { type DeadLetterReason, deadLetter, deadLetterPoison } from './dead-letters.ts';
import { inEachEpoch, type OnWait } from './epoch-runs.ts';
import { findRecorded, type Records, recordBatch, recordOne } from './record-orders.ts';
import { Refusals } from './refusals.ts';

const mostRefusals = 5;

interface Worker {
  readonly records: Records;
  readonly refusals: Refusals;
  readonly redis: Redis;
  readonly saleKeys: SaleKeys;
  readonly log: Logger;
  readonly onFull: () => void;
}

export interface WorkerHooks extends Hooks {
  readonly onWait?: OnWait;
  /** MySQL has no space for an order. */
  readonly onFull?: () => void;
}

/** Runs until `signal` aborts; the current batch is finished first. */
export async function workOrders(
  connections: Connections,
  queue: OrderQueue,
  log: Logger,
  signal: AbortSignal,
  { onWait, onFull = () => {}, ...hooks }: WorkerHooks = {},
): Promise<void> {
  const work = (epoch: string, until: AbortSignal) =>
    workUntil(connections, queue, { epoch, log, onFull }, until, hooks);
  if (queue.keepsUnsettled) await inEachEpoch(connections, log, signal, work, onWait);
  else await work('', signal);
}

interface Run {
  readonly epoch: string;
  readonly log: Logger;
  readonly onFull: () => void;
}

/** All orders of one run are read, and recorded, in one epoch. */
async function workUntil(
  connections: Connections,
  queue: OrderQueue,
  { epoch, log, onFull }: Run,
  signal: AbortSignal,
  hooks: Hooks,
): Promise<void> {
  const { saleKeys } = connections;
  const redis = connections.redis('admin');
  const worker = {
    records: { pool: connections.mysql(), vouchers: openVouchers(connections), epoch },
    refusals: new Refusals(redis, saleKeys),
    ...{ redis, saleKeys, log, onFull },
  };
  const limitMs = connections.config.BATCH_LIMIT_MS;
  const handle = async (deliveries: readonly Delivery[]) => {
    const orders = deliveries.map(({ order }) => order);
    await checkpointEach('delivered', orders);
    const settled = await settleWithin(worker, limitMs, deliveries);
    await forgetRefusals(worker, deliveries, settled);
    await checkpointEach('recorded', orders);
    return settled;
  };
  const discard = (poison: Poison) => discardPoison(worker, poison);
  await queue.consume(handle, signal, { ...hooks, discard });
}

/**
 * Before they are acknowledged, so that a worker that dies between the two leaves no count behind.
 * An order of a first delivery has none.
 */
async function forgetRefusals(
  { refusals, log }: Worker,
  deliveries: readonly Delivery[],
  settled: ReadonlySet<string>,
): Promise<void> {
  const again = deliveries.filter(({ order, attempt }) => attempt > 1 && settled.has(order.id));
  await refusals
    .forget(again.map(({ order }) => order))
    .catch((error: unknown) => log.warn({ event: 'refusals-not-removed', error: String(error) }));
}

/**
 * @returns the ids of the orders that were settled: recorded or dead-lettered. None after the
 *   limit: a late COMMIT may still take effect, and the next delivery finds it.
 */
async function settleWithin(
  worker: Worker,
  limitMs: number,
  deliveries: readonly Delivery[],
): Promise<ReadonlySet<string>> {
  const late = new AbortController();
  const { promise: tooLate, resolve: giveUp } = deferred<ReadonlySet<string>>();
  const timer = setTimeout(() => {
    const cause = new BatchTooSlow(deliveries.length, limitMs);
    worker.log.error({ event: 'batch-too-slow', error: cause.message });
    late.abort(cause);
    destroyConnections(worker.records.pool, cause);
    giveUp(new Set());
  }, limitMs);
  const settled = settleBatch(worker, deliveries, late.signal).catch((error: unknown) => {
    worker.log.warn({ event: 'batch-not-recorded', error: String(error) });
    return new Set<string>();
  });
  return Promise.race([settled, tooLate]).finally(() => clearTimeout(timer));
}

/**
 * All in one transaction. When that fails, or for a second delivery, the orders that MySQL has are
 * looked up first, and the others are one transaction. Only when that fails, it is one for each.
 */
async function settleBatch(
  worker: Worker,
  deliveries: readonly Delivery[],
  late: AbortSignal,
): Promise<ReadonlySet<string>> {
  const isNew = deliveries.every(({ attempt }) => attempt === 1);
  if (isNew && (await recordTogether(worker, deliveries))) return idsOf(deliveries);
  late.throwIfAborted();
  const orders = deliveries.map(({ order }) => order);
  const found = await findRecorded(worker.records.pool, orders);
  const again = deliveries.filter(({ order }) => found.get(order.id) === 'recorded');
  for (const { order } of again) traceRecorded(order);
  const missing = deliveries.filter(({ order }) => !found.has(order.id));
  const settled = [...again];
  if (await recordTogether(worker, missing)) settled.push(...missing);
  const done = idsOf(settled);
  const rest = deliveries.filter(({ order }) => !done.has(order.id));
  return new Set([...done, ...(await settleOneByOne(worker, rest, late))]);
}

const idsOf = (deliveries: readonly Delivery[]): ReadonlySet<string> =>
  new Set(deliveries.map(({ order }) => order.id));

/** @returns whether MySQL has them all now; if not, it has none of them. */
async function recordTogether(worker: Worker, deliveries: readonly Delivery[]): Promise<boolean> {
  if (deliveries.length === 0) return true;
  const orders = deliveries.map(({ order }) => order);
  try {
    await recordBatch(worker.records, orders);
  } catch (error) {
    worker.log.debug({ event: 'batch-refused', orders: orders.length, error: String(error) });
    return false;
  }
  for (const order of orders) traceRecorded(order);
  return true;
}

/** Stops at an error that the next order would also get; the rest is delivered again. */
async function settleOneByOne(
  worker: Worker,
  deliveries: readonly Delivery[],
  late: AbortSignal,
): Promise<ReadonlySet<string>> {
  const settled = new Set<string>();
  for (const { order, attempt } of deliveries) {
    if (late.aborted) break;
    try {
      await settleOne(worker, { order, attempt });
      settled.add(order.id);
    } catch (error) {
      const cause = { orderId: order.id, attempt, error: String(error) };
      worker.log.warn({ event: 'order-not-recorded', ...cause });
      if (isFull(error)) worker.onFull();
      if (!isStatementRefused(error)) break;
    }
  }
  return settled;
}

/**
 * While the database is down, busy, full or read-only, the order is retried without end. It is
 * dead-lettered only when the database has refused the order itself, `mostRefusals` times.
 */
async function settleOne(worker: Worker, { order, attempt }: Delivery): Promise<void> {
  const recording = await recordOne(worker.records, order).catch(async (error: unknown) => {
    if (!isRowRefused(error)) throw error;
    if ((await worker.refusals.add(order)) < mostRefusals) throw error;
    return 'undeliverable' as const;
  });
  if (recording === 'recorded') traceRecorded(order);
  else await discard(worker, order, attempt, recording);
}

async function discard(
  { records, redis, saleKeys, log }: Worker,
  order: Order,
  deliveries: number,
  reason: DeadLetterReason,
): Promise<void> {
  await deadLetter(records.pool, redis, saleKeys, order, { reason, deliveries });
  record('dead-lettered', order, { reason });
  log.error({ event: 'order-dead-lettered', orderId: order.id, reason });
}

/** @returns false when a store does not answer: the entry is delivered again. */
async function discardPoison(
  { records, redis, saleKeys, log, onFull }: Worker,
  poison: Poison,
): Promise<boolean> {
  const { orderId, cause } = poison;
  try {
    await deadLetterPoison(records.pool, redis, saleKeys, poison);
  } catch (error) {
    if (isFull(error)) onFull();
    log.warn({ event: 'poison-not-dead-lettered', orderId, cause, error: String(error) });
    return false;
  }
  log.error({ event: 'poison-dead-lettered', orderId, cause });
  return true;
}

const traceRecorded = (order: Order): void => record('recorded', order);

/** `Promise.withResolvers`, which Node 20 does not have. */
function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
