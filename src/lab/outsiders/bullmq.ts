/**
 * Idea. BullMQ: a job for each order. Lua scripts move it between lists and sorted sets of Redis.
 *   The worker that has a job renews a lock on it; a job without its lock has stalled, and is
 *   given to another worker.
 * Holds while. Redis keeps what it acknowledged. Each order is then delivered at least once, until
 *   a job has stalled twice (`maxStalledCount` is 1) or has failed at the last of its `attempts`.
 * Breaks when. The process dies after it took an order from stock and before `add`. A job that
 *   BullMQ has given up waits with the failed ones until an operator retries it, and its stock
 *   with it.
 * Source. docs.bullmq.io: "Going to production" (AOF, noeviction, removeOnComplete, clients that
 *   fail at once, workers that never give up), "Stalled Jobs", "Retrying failing jobs" and
 *   "Important Notes" (at least once).
 */
import { once } from 'node:events';
import { type Job, Queue, UnrecoverableError, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { SaleKeys } from '../../service/connections/sale-keys.ts';
import type { Order } from '../../service/domain.ts';
import type { Handle, Hooks, OrderQueue } from '../../service/queues/order-queue.ts';
import {
  asFields,
  fieldOf,
  noteQueued,
  readNote,
  readOrder,
} from '../../service/queues/shared/order-fields.ts';
import { throwFirst } from '../../service/queues/shared/redis-queue.ts';
import { sum } from '../stage/counts.ts';

export interface BullmqOptions {
  /** Of the queue of BullMQ; its workers must all have the same times. */
  readonly name: string;
  readonly url: string;
  /** Jobs that a worker has at a time. BullMQ hands them over one by one. */
  readonly concurrency: number;
  /** BullMQ's own is 30,000. */
  readonly lockDurationMs: number;
  /** BullMQ's own is 30,000. */
  readonly stalledIntervalMs: number;
}

interface OrderJob {
  readonly fields: readonly string[];
}

/** In braces, as for Redis Cluster. */
const prefix = '{lockstep-bullmq}';
/** After 1, 2, 4, … seconds: an order is given up after eight and a half minutes. */
const attempts = { attempts: 10, backoff: { type: 'exponential', delay: 1_000 } } as const;
const removal = { removeOnComplete: true, removeOnFail: { count: 5_000 } } as const;
const unsettled = ['waiting', 'active', 'delayed'] as const;

/** @param redis of the publisher: it fails at once, and has no offline queue. */
export function bullmqQueue(redis: Redis, keys: SaleKeys, options: BullmqOptions): OrderQueue {
  const { name } = options;
  let opened: Queue<OrderJob> | undefined;
  const queue = () => {
    opened ??= new Queue<OrderJob>(name, {
      connection: redis,
      prefix,
      skipWaitingForReady: true,
      defaultJobOptions: { ...attempts, ...removal },
    }).on('error', () => {}) as Queue<OrderJob>;
    return opened;
  };

  async function publish(order: Order): Promise<void> {
    const { id, voucherId } = order;
    throwFirst(await noteQueued(redis.multi(), keys.of(voucherId), order).exec());
    await queue().add(name, { fields: asFields(order) }, { jobId: jobIdOf(id) });
  }

  async function consume(handle: Handle, signal: AbortSignal, hooks: Hooks = {}): Promise<void> {
    const { url, concurrency, lockDurationMs, stalledIntervalMs } = options;
    const connection = new Redis(url, { maxRetriesPerRequest: null, retryStrategy });
    connection.on('error', () => {});
    const work = (job: Job<OrderJob>) => settle(job, redis, keys, handle, hooks);
    const worker = new Worker<OrderJob>(name, work, {
      connection,
      prefix,
      concurrency,
      lockDuration: lockDurationMs,
      stalledInterval: stalledIntervalMs,
    });
    worker.on('error', () => {});
    if (!signal.aborted) await once(signal, 'abort');
    await worker.close(); // The jobs in hand are finished first.
    connection.disconnect();
  }

  async function depth(): Promise<number> {
    return sum(Object.values(await queue().getJobCounts(...unsettled)));
  }

  return { publish, consume, depth };
}

/** BullMQ refuses an id that is a whole number: for 64 bits, only those that a double can be. */
const jobIdOf = (orderId: string): string => `order-${orderId}`;

/** As its documentation advises: after one second at least, after twenty at most. */
const retryStrategy = (times: number): number => Math.max(Math.min(Math.exp(times), 20_000), 1_000);

/** A job is done when this resolves. @throws when BullMQ must deliver it again, or give it up. */
async function settle(
  { data: { fields }, attemptsStarted: attempt }: Job<OrderJob>,
  redis: Redis,
  keys: SaleKeys,
  handle: Handle,
  { discard = async () => true }: Hooks,
): Promise<void> {
  const order = readOrder(fields);
  if ('cause' in order) {
    const orderId = fieldOf(fields, 'orderId');
    const [shard] = keys.shards;
    const noted = shard && (await readNote(redis, shard, orderId));
    const isDiscarded = await discard({ cause: order.cause, orderId, noted });
    throw isDiscarded ? new UnrecoverableError(order.cause) : new Error('it is not discarded');
  }
  const settled = await handle([{ order, attempt }]);
  if (!settled.has(order.id)) throw new Error('the order is not recorded');
  await redis.hdel(keys.of(order.voucherId).queued, order.id);
}
