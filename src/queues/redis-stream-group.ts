/**
 * Idea. A stream and a consumer group: an order stays pending until it is acknowledged, whichever
 *   consumer dies.
 * Holds while. Redis keeps what it acknowledged. Each order is then delivered at least once.
 * Breaks when. The process dies after it took an order from stock and before the XADD. One script
 *   closes that gap.
 * Source. Redis, "Streams"; the course notes' last chapter, whose consumers all had one name and
 *   never claimed.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { orderGroup, type SaleKeys, type ShardKeys } from '../connections/sale-keys.ts';
import type { Order } from '../domain.ts';
import type { Delivery, Handle, OnTurn, OrderQueue } from './order-queue.ts';

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
  /** Makes the connection that a consumer blocks; without it the client is duplicated. */
  readonly newConsumer?: () => Redis;
}

const blockMs = 500;
type Entry = [id: string, fields: string[] | null];
interface Taken extends Delivery {
  readonly entryId: string;
}

export function redisStreamGroupQueue(
  redis: Redis,
  keys: SaleKeys,
  options: StreamGroupOptions = {},
): OrderQueue {
  async function publish(order: Order): Promise<void> {
    const { id, voucherId, userId, requestId } = order;
    const { queued, orders } = keys.of(voucherId);
    const fields = [
      'orderId',
      id,
      'voucherId',
      voucherId,
      'userId',
      userId,
      'requestId',
      requestId,
    ];
    const publication = redis.multi().hset(queued, id, `${voucherId}:${userId}`);
    throwFirst(await publication.xadd(orders, '*', ...fields).exec());
  }

  async function depth(): Promise<number> {
    const depths = await Promise.all(keys.shards.map(({ orders }) => redis.xlen(orders)));
    return depths.reduce((sum, each) => sum + each, 0);
  }

  /**
   * One consumer for each shard: XREADGROUP blocks its connection, and shards may be on different
   * masters.
   */
  async function consume(handle: Handle, signal: AbortSignal, onTurn?: OnTurn): Promise<void> {
    const consumers = keys.shards.map((shard, consumer) =>
      consumeShard(redis, shard, options, handle, signal, () => onTurn?.(consumer)),
    );
    await Promise.all(consumers);
  }

  return { publish, consume, depth };
}

async function consumeShard(
  redis: Redis,
  shard: ShardKeys,
  options: StreamGroupOptions,
  handle: Handle,
  signal: AbortSignal,
  onTurn: () => void,
): Promise<void> {
  const { batchSize = 500, gatherMs = 50, newConsumer = () => redis.duplicate() } = options;
  const blocking = newConsumer();
  const next = deliveries(redis, blocking, shard, options);
  while (!signal.aborted) {
    try {
      const taken = await next();
      onTurn();
      if (taken.length === 0) continue;
      await settle(redis, shard, taken, await handle(taken));
      // One commit costs about as much as fifty.
      if (taken.length < batchSize) await sleep(gatherMs);
    } catch (error) {
      if (isGroupLost(error)) await createGroup(redis, shard).catch(() => {});
      else await sleep(200); // Redis is down; the batch in hand stays pending and is claimed later.
    }
  }
  blocking.disconnect();
}

/**
 * @returns a function that takes new orders, and from time to time those that another consumer left
 * unsettled.
 */
function deliveries(
  redis: Redis,
  blocking: Redis,
  shard: ShardKeys,
  { batchSize = 500, claimIdleMs = 5_000 }: StreamGroupOptions,
): () => Promise<Taken[]> {
  // A new name each start: no other's pending list.
  const consumer = `${hostname()}-${process.pid}-${randomUUID()}`;
  let claimFrom = '0-0';
  let claimAt = 0;
  return async () => {
    if (performance.now() < claimAt) return takeNew(blocking, redis, shard, consumer, batchSize);
    const [cursor, taken] = await claimIdle(
      redis,
      shard,
      consumer,
      claimIdleMs,
      claimFrom,
      batchSize,
    );
    claimFrom = cursor;
    if (cursor === '0-0') claimAt = performance.now() + claimIdleMs / 2;
    return taken;
  };
}

/**
 * From the beginning, never from `$`: after a group was lost, every order that was not settled must
 * be found.
 */
async function createGroup(redis: Redis, { orders }: ShardKeys): Promise<void> {
  await redis.xgroup('CREATE', orders, orderGroup, '0', 'MKSTREAM');
}

async function takeNew(
  blocking: Redis,
  redis: Redis,
  shard: ShardKeys,
  consumer: string,
  count: number,
): Promise<Taken[]> {
  const from = ['STREAMS', shard.orders, '>'] as const;
  const group = ['GROUP', orderGroup, consumer] as const;
  const answer = await blocking.xreadgroup(...group, 'COUNT', count, 'BLOCK', blockMs, ...from);
  const [stream] = (answer ?? []) as [string, Entry[]][];
  const entries = stream?.[1] ?? [];
  await moveMalformed(redis, shard, entries);
  return parse(entries, () => 1);
}

/**
 * Claims what has been pending too long, also from itself: a lost answer leaves entries with a live
 * consumer.
 */
async function claimIdle(
  redis: Redis,
  shard: ShardKeys,
  consumer: string,
  idleMs: number,
  from: string,
  count: number,
): Promise<[cursor: string, Taken[]]> {
  const { orders } = shard;
  const answer = await redis.xautoclaim(orders, orderGroup, consumer, idleMs, from, 'COUNT', count);
  const [cursor, entries] = answer as [string, Entry[]];
  await moveMalformed(redis, shard, entries);
  const first = entries.at(0)?.[0];
  const last = entries.at(-1)?.[0];
  if (first === undefined || last === undefined) return [cursor, []];
  const pending = await redis.xpending(orders, orderGroup, first, last, count, consumer);
  const attempts = new Map(
    (pending as [string, string, number, number][]).map(([id, , , times]) => [id, times]),
  );
  return [cursor, parse(entries, (id) => attempts.get(id) ?? 1)];
}

/**
 * Acknowledges and removes in one transaction: an acknowledged entry that stayed would count as
 * depth for ever.
 */
async function settle(
  redis: Redis,
  { orders, queued }: ShardKeys,
  taken: readonly Taken[],
  settled: ReadonlySet<string>,
): Promise<void> {
  const done = taken.filter(({ order }) => settled.has(order.id));
  if (done.length === 0) return;
  const entryIds = done.map(({ entryId }) => entryId);
  const orderIds = done.map(({ order }) => order.id);
  const acknowledgement = redis.multi().xack(orders, orderGroup, ...entryIds);
  throwFirst(
    await acknowledgement
      .xdel(orders, ...entryIds)
      .hdel(queued, ...orderIds)
      .exec(),
  );
}

function parse(entries: readonly Entry[], attempt: (entryId: string) => number): Taken[] {
  return entries.flatMap(([entryId, fields]) => {
    const order = fields && asOrder(fields);
    return order ? [{ entryId, order, attempt: attempt(entryId) }] : [];
  });
}

function asOrder(fields: readonly string[]): Order | null {
  const at = (name: string) => {
    const index = fields.indexOf(name);
    return index < 0 ? undefined : fields[index + 1];
  };
  const [id, voucherId, userId, requestId] = ['orderId', 'voucherId', 'userId', 'requestId'].map(
    at,
  );
  return id && voucherId && userId && requestId ? { id, voucherId, userId, requestId } : null;
}

/**
 * An entry that is not an order can never be recorded: it is moved to the dead letters, whole, and
 * acknowledged.
 */
async function moveMalformed(
  redis: Redis,
  { orders, dead }: ShardKeys,
  entries: readonly Entry[],
): Promise<void> {
  for (const [entryId, fields] of entries) {
    if (!fields || asOrder(fields)) continue;
    const move = redis.multi().xadd(dead, '*', 'reason', 'malformed', ...fields);
    throwFirst(await move.xack(orders, orderGroup, entryId).xdel(orders, entryId).exec());
  }
}

const isGroupLost = (error: unknown): boolean =>
  error instanceof Error && /^(NOGROUP|UNBLOCKED)/.test(error.message);

function throwFirst(results: [Error | null, unknown][] | null): void {
  for (const [error] of results ?? []) if (error) throw error;
}
