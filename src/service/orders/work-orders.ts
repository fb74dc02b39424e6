/**
 * Consumes accepted orders and records them: a batch in one transaction, or in smaller ones when
 * that fails.
 */

import type { Logger } from 'pino';
import type { Connections } from '../connections/connections.ts';
import { isContention, isFull, isRowRefused, isStatementRefused } from '../connections/mysql.ts';
import { destroyConnections } from '../connections/mysql-pool.ts';
import type { Order } from '../domain.ts';
import { serviceError } from '../errors.ts';
import { countSettled, observeBatch } from '../metrics/records.ts';
import { openVouchers } from '../purchase/vouchers.ts';
import type { Delivery, Hooks, OrderQueue, Poison } from '../queues/order-queue.ts';
import { checkpointEach } from '../trace/checkpoints.ts';
import { record } from '../trace/history.ts';
import { traceDeadLetter, traceRecording } from '../trace/traces.ts';
import {
  type DeadLetterReason,
  deadLetter,
  deadLetterPoison,
  refusalCounts,
} from './dead-letters.ts';
import { inEachEpoch, type OnWait } from './epoch-runs.ts';
import {
  findRecorded,
  isStockShort,
  type Records,
  recordBatch,
  recordOne,
} from './record-orders.ts';

const refusalsMax = 5;

interface Worker {
  readonly connections: Connections;
  readonly records: Records;
  readonly refusals: ReturnType<typeof refusalCounts>;
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
  const worker = {
    connections,
    records: { pool: connections.mysql(), vouchers: openVouchers(connections), epoch },
    refusals: refusalCounts(connections.redis('admin'), connections.saleKeys),
    log,
    onFull,
  };
  const limitMs = connections.config.BATCH_LIMIT_MS;
  const handle = async (deliveries: readonly Delivery[]) => {
    const orders = deliveries.map(({ order }) => order);
    await checkpointEach('delivered', orders);
    const begunAt = performance.now();
    const settled = await settleWithin(worker, limitMs, deliveries);
    await forgetRefusals(worker, orders, settled);
    observeBatch(orders.length, performance.now() - begunAt);
    traceRecording(orders, settled, begunAt);
    await checkpointEach('recorded', orders);
    return settled;
  };
  const discard = (poison: Poison) => discardPoison(worker, poison);
  await queue.consume(handle, signal, { ...hooks, discard });
}

/**
 * The counts go before the orders are acknowledged: so a worker that dies in between leaves none
 * behind. A first delivery may have a count, too: that of an order that was split from its entry.
 */
async function forgetRefusals(
  { refusals, log }: Worker,
  orders: readonly Order[],
  settled: ReadonlySet<string>,
): Promise<void> {
  await refusals
    .forget(orders.filter(({ id }) => settled.has(id)))
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
  const { promise: tooLate, resolve: giveUp } = Promise.withResolvers<ReadonlySet<string>>();
  const timer = setTimeout(() => {
    const cause = serviceError('BATCH_TOO_SLOW', deliveries.length, limitMs);
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
 * looked up first, and the others are one transaction. Only when that fails, it is halved.
 */
async function settleBatch(
  worker: Worker,
  deliveries: readonly Delivery[],
  late: AbortSignal,
): Promise<ReadonlySet<string>> {
  const areNew = deliveries.every(({ attempt }) => attempt === 1);
  if (areNew && (await recordTogether(worker, deliveries)) === 'settled') return idsOf(deliveries);
  late.throwIfAborted();
  const orders = deliveries.map(({ order }) => order);
  const found = await findRecorded(worker.records.pool, orders);
  const recorded = deliveries.filter(({ order }) => found.get(order.id) === 'recorded');
  for (const { order } of recorded) record('recorded', order); // They were counted before.
  const missing = deliveries.filter(({ order }) => !found.has(order.id));
  const others = deliveries.filter(
    ({ order: { id } }) => found.has(id) && found.get(id) !== 'recorded',
  );
  const parts = [missing, ...others.map((each) => [each])];
  return new Set([...idsOf(recorded), ...(await settleInParts(worker, parts, late))]);
}

const idsOf = (deliveries: readonly Delivery[]): ReadonlySet<string> =>
  new Set(deliveries.map(({ order }) => order.id));

/** MySQL has all of them now, or none. */
async function recordTogether(worker: Worker, deliveries: readonly Delivery[]): Promise<End> {
  if (deliveries.length === 0) return 'settled';
  const orders = deliveries.map(({ order }) => order);
  try {
    await recordBatch(worker.records, orders);
  } catch (error) {
    worker.log.debug({ event: 'batch-refused', orders: orders.length, error: String(error) });
    return endOf(worker, error);
  }
  traceRecorded(orders);
  return 'settled';
}

/**
 * A part that MySQL refuses is halved until the refused order is alone: so it costs a few
 * transactions, and not one for each order beside it.
 */
async function settleInParts(
  worker: Worker,
  parts: readonly (readonly Delivery[])[],
  late: AbortSignal,
): Promise<ReadonlySet<string>> {
  const settled: Delivery[] = [];
  const left = parts.toReversed(); // The last one is the next.
  while (!late.aborted) {
    const part = left.pop();
    if (part === undefined) break;
    const [first, ...others] = part;
    const isAlone = first !== undefined && others.length === 0;
    const end = await (isAlone ? settleAlone(worker, first) : recordTogether(worker, part));
    if (end === 'all-would-fail') break; // The rest is delivered again.
    const middle = Math.ceil(part.length / 2);
    if (end === 'settled') settled.push(...part);
    else if (!isAlone) left.push(part.slice(middle), part.slice(0, middle));
  }
  return idsOf(settled);
}

/** `all-would-fail`: the next order would get the same error. */
type End = 'settled' | 'refused' | 'all-would-fail';

async function settleAlone(worker: Worker, { order, attempt }: Delivery): Promise<End> {
  try {
    await settleOne(worker, { order, attempt });
    return 'settled';
  } catch (error) {
    const cause = { orderId: order.id, attempt, error: String(error) };
    worker.log.warn({ event: 'order-not-recorded', ...cause });
    return endOf(worker, error);
  }
}

function endOf({ onFull }: Worker, error: unknown): End {
  if (isFull(error)) onFull();
  const isForThese = isStatementRefused(error) || isContention(error) || isStockShort(error);
  return isForThese ? 'refused' : 'all-would-fail';
}

/**
 * While the database is down, busy, full or read-only, the order is retried without end. It is
 * dead-lettered only when the database has refused the order itself, `refusalsMax` times.
 */
async function settleOne(worker: Worker, { order, attempt }: Delivery): Promise<void> {
  const recording = await recordOne(worker.records, order).catch(async (error: unknown) => {
    if (!isRowRefused(error)) throw error;
    if ((await worker.refusals.add(order)) < refusalsMax) throw error;
    return 'undeliverable' as const;
  });
  if (recording === 'recorded') traceRecorded([order]);
  else await discard(worker, order, attempt, recording);
}

async function discard(
  { connections, log }: Worker,
  order: Order,
  deliveries: number,
  reason: DeadLetterReason,
): Promise<void> {
  await deadLetter(connections, order, { reason, deliveries });
  record('dead-lettered', order, { reason });
  traceDeadLetter(order, reason);
  countSettled(reason);
  log.error({ event: 'order-dead-lettered', orderId: order.id, reason });
}

/** @returns false when a store does not answer: the entry is delivered again. */
async function discardPoison(
  { connections, log, onFull }: Worker,
  poison: Poison,
): Promise<boolean> {
  const { orderId, cause } = poison;
  try {
    await deadLetterPoison(connections, poison);
  } catch (error) {
    if (isFull(error)) onFull();
    log.warn({ event: 'poison-not-dead-lettered', orderId, cause, error: String(error) });
    return false;
  }
  countSettled('malformed');
  log.error({ event: 'poison-dead-lettered', orderId, cause });
  return true;
}

function traceRecorded(orders: readonly Order[]): void {
  for (const order of orders) record('recorded', order);
  countSettled('recorded', orders.length);
}
