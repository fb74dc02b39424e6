/**
 * Idea. A stream and a consumer group: an order stays pending until it is acknowledged, whichever
 *   consumer dies.
 * Holds while. Redis keeps what it acknowledged. Each order is then delivered at least once.
 * Breaks when. The process dies after it took an order from stock and before the XADD. One script
 *   closes that gap.
 * Source. Redis, "Streams"; the course notes (002), whose consumers all have one name and never
 *   claim.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { whenReady } from '../connections/redis.ts';
import { orderGroup, type SaleKeys, type ShardKeys } from '../connections/sale-keys.ts';
import type { Order } from '../domain.ts';
import type { Discard, Handle, Hooks, OrderQueue } from './order-queue.ts';
import { asFields, noteQueued, orderParts } from './shared/order-fields.ts';
import { depthOfShards, firstEntry, ofConsumer, throwFirst } from './shared/redis-queue.ts';
import {
  acknowledge,
  cut,
  type Entry,
  isOrder,
  moveToDead,
  type Pending,
  type ReadEntry,
  streamReader,
} from './shared/stream-reader.ts';

const firstPauseMs = 50;
const longestPauseMs = 2_000;
/** Further entries are not counted as in hand. */
const pendingMax = 10_000;

/** How a consumer reads the stream. */
export interface StreamGroupOptions {
  /** Most orders in one delivery; 500 without it. */
  readonly batchSize?: number;
  /**
   * The pause after a batch that was not full, in milliseconds, so that orders gather; 50 without
   * it.
   */
  readonly gatherMs?: number;
  /**
   * An order that was not settled in this time is claimed by another consumer, in milliseconds;
   * 5,000 without it.
   */
  readonly claimIdleMs?: number;
  /**
   * A consumer that was not seen for this time, and has nothing pending, is removed; 60,000 without
   * it.
   */
  readonly retireIdleMs?: number;
  /** Makes the connection that a consumer blocks; without it the client is duplicated. */
  readonly newConsumer?: () => Redis;
}

/** What a consumer does with orders, and with entries that are none. */
interface Handlers {
  readonly handle: Handle;
  readonly discard: Discard;
  readonly onTurn: (entries: number) => void;
  readonly onSettled: (entries: number) => void;
  readonly onError: (error: unknown) => void;
}

export function redisStreamGroupQueue(
  redis: Redis,
  keys: SaleKeys,
  options: StreamGroupOptions = {},
): OrderQueue {
  async function publish(order: Order): Promise<void> {
    const shard = keys.of(order.voucherId);
    const publication = noteQueued(redis.multi(), shard, order);
    throwFirst(await publication.xadd(shard.orders, '*', ...asFields(order)).exec());
  }

  const depth = () => depthOfShards(keys, (shard) => depthOf(redis, shard));

  const inHand = () => depthOfShards(keys, (shard) => inHandIn(redis, shard));

  const oldest = () => Promise.all(keys.shards.map((shard) => oldestOf(redis, shard)));

  /**
   * One consumer for each shard: XREADGROUP blocks its connection, and shards may be on different
   * masters.
   */
  async function consume(handle: Handle, signal: AbortSignal, hooks: Hooks = {}): Promise<void> {
    const consumers = keys.shards.map((shard, consumer) => {
      const { discard = async () => true, ...own } = ofConsumer(hooks, consumer);
      const { onError = () => {} } = hooks;
      return consumeShard(redis, shard, options, { handle, discard, onError, ...own }, signal);
    });
    await Promise.all(consumers);
  }

  return { publish, consume, depth, inHand, oldest, keepsUnsettled: true };
}

/**
 * An entry may have several orders, and each order has a note. One that is no order has none; what
 * it was may have left one behind.
 */
async function depthOf(redis: Redis, { orders, queued }: ShardKeys): Promise<number> {
  const [entries, notes] = await Promise.all([redis.xlen(orders), redis.hlen(queued)]);
  return entries === 0 ? 0 : Math.max(entries, notes);
}

/** Those of the entries that a consumer has. Without its group, nobody has one. */
async function inHandIn(redis: Redis, { orders }: ShardKeys): Promise<number> {
  const pending = await redis
    .xpending(orders, orderGroup, '-', '+', pendingMax)
    .catch((error: unknown) => {
      if (!isGroupLost(error)) throw error;
      return [];
    });
  const looks = redis.pipeline();
  for (const [id] of pending as Pending[]) looks.xrange(orders, id, id);
  const entries = throwFirst(await looks.exec()) as Entry[][];
  return entries.flat().reduce((sum, [, fields]) => sum + orderParts(fields ?? []).length, 0);
}

/**
 * With the number of its deliveries: while it is delivered to others again and again, a consumer
 * without orders may rest.
 */
async function oldestOf(redis: Redis, { orders }: ShardKeys): Promise<string | null> {
  const entryId = await firstEntry(redis, orders);
  if (entryId === null) return null;
  const range = [entryId, entryId, 1] as const;
  const pending = await redis.xpending(orders, orderGroup, ...range).catch((error: unknown) => {
    if (!isGroupLost(error)) throw error;
    return [];
  });
  const [, , , times = 0] = (pending as Pending[])[0] ?? [];
  return `${entryId}, deliveries: ${times}`;
}

async function consumeShard(
  redis: Redis,
  shard: ShardKeys,
  options: StreamGroupOptions,
  handlers: Handlers,
  signal: AbortSignal,
): Promise<void> {
  const { batchSize = 500, gatherMs = 50, newConsumer = () => redis.duplicate() } = options;
  const { claimIdleMs = 5_000, retireIdleMs = 60_000 } = options;
  let refusedInRow = 0;
  const blocking = newConsumer();
  const reader = streamReader(redis, blocking, shard, { batchSize, claimIdleMs, retireIdleMs });
  await whenReady(blocking, 2_000);
  while (!signal.aborted) {
    try {
      const { entries, hasMore } = await reader.next();
      if (entries.length === 0) handlers.onTurn(0);
      const settled = await deliverInTurn(redis, shard, cut(entries, batchSize), handlers);
      if (settled > 0) refusedInRow = 0;
      if (entries.length > 0 && settled === 0) {
        reader.endClaims();
        await pauseAfter(++refusedInRow, signal);
      } else if (entries.length > 0 && !hasMore) {
        await sleep(gatherMs); // One commit costs about as much as fifty.
      }
    } catch (error) {
      if (!isGroupLost(error)) handlers.onError(error);
      handlers.onSettled(0);
      reader.lookAgain();
      await recover(redis, blocking, shard, error);
    }
  }
  await reader.leave().catch(() => {}); // Another worker removes the name later.
  blocking.disconnect();
}

/**
 * MySQL may refuse all of a large backlog, and quickly. Each delivery is a write in the Redis that
 * sells, so the more batches were refused in a row, the longer a consumer waits.
 */
async function pauseAfter(refusedInRow: number, signal: AbortSignal): Promise<void> {
  const pauseMs = Math.min(firstPauseMs * 2 ** (refusedInRow - 1), longestPauseMs);
  await sleep(pauseMs, undefined, { signal }).catch(() => {});
}

/**
 * When nothing of a batch can be settled, that is true of the next ones too: they stay pending.
 * @returns how many orders are settled.
 */
async function deliverInTurn(
  redis: Redis,
  shard: ShardKeys,
  batches: readonly (readonly ReadEntry[])[],
  handlers: Handlers,
): Promise<number> {
  let settled = 0;
  for (const entries of batches) {
    handlers.onTurn(entries.length);
    const count = await deliverBatch(redis, shard, entries, handlers);
    handlers.onSettled(count);
    settled += count;
    if (count === 0) break;
  }
  return settled;
}

/** @returns how many orders are settled. */
async function deliverBatch(
  redis: Redis,
  shard: ShardKeys,
  entries: readonly ReadEntry[],
  { handle, discard }: Handlers,
): Promise<number> {
  const taken = entries.flat().filter(isOrder);
  const ids = taken.length > 0 ? await handle(taken) : new Set<string>();
  let settled = await acknowledge(redis, shard, entries, ids);
  for (const parts of entries) settled += await moveToDead(redis, shard, parts, ids, discard);
  return settled;
}

async function recover(
  redis: Redis,
  blocking: Redis,
  shard: ShardKeys,
  error: unknown,
): Promise<void> {
  await sleep(50);
  if (isGroupLost(error)) await createGroup(redis, shard).catch(() => {});
  await Promise.all([redis, blocking].map((client) => whenReady(client, 500)));
}

/**
 * From the beginning, never from `$`: after a group was lost, every order that was not settled must
 * be found.
 */
async function createGroup(redis: Redis, { orders }: ShardKeys): Promise<void> {
  await redis.xgroup('CREATE', orders, orderGroup, '0', 'MKSTREAM');
}

const isGroupLost = (error: unknown): boolean =>
  error instanceof Error && /^(NOGROUP|UNBLOCKED)/.test(error.message);
