/**
 * Idea. A stream and a consumer group: an order stays pending until it is acknowledged, whichever
 *   consumer dies.
 * Holds while. Redis keeps what it acknowledged. Each order is then delivered at least once.
 * Breaks when. The process dies after it took an order from stock and before the XADD. One script
 *   closes that gap.
 * Source. Redis, "Streams"; the course notes' last chapter, whose consumers all had one name and
 *   never claimed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { whenReady } from '../connections/redis.ts';
import { orderGroup, type SaleKeys, type ShardKeys } from '../connections/sale-keys.ts';
import type { Order } from '../domain.ts';
import type { Discard, Handle, Hooks, OrderQueue } from './order-queue.ts';
import { asFields, fieldOf } from './shared/order-fields.ts';
import { type Malformed, streamReader, type Taken } from './shared/stream-reader.ts';

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
  readonly onTurn: () => void;
}

export function redisStreamGroupQueue(
  redis: Redis,
  keys: SaleKeys,
  options: StreamGroupOptions = {},
): OrderQueue {
  async function publish(order: Order): Promise<void> {
    const { id, voucherId, userId } = order;
    const { queued, orders } = keys.of(voucherId);
    const publication = redis.multi().hset(queued, id, `${voucherId}:${userId}`);
    throwFirst(await publication.xadd(orders, '*', ...asFields(order)).exec());
  }

  async function depth(): Promise<number> {
    const depths = await Promise.all(keys.shards.map(({ orders }) => redis.xlen(orders)));
    return depths.reduce((sum, each) => sum + each, 0);
  }

  /**
   * One consumer for each shard: XREADGROUP blocks its connection, and shards may be on different
   * masters.
   */
  async function consume(
    handle: Handle,
    signal: AbortSignal,
    { discard = async () => true, onTurn }: Hooks = {},
  ): Promise<void> {
    const consumers = keys.shards.map((shard, consumer) => {
      const handlers = { handle, discard, onTurn: () => onTurn?.(consumer) };
      return consumeShard(redis, shard, options, handlers, signal);
    });
    await Promise.all(consumers);
  }

  return { publish, consume, depth };
}

async function consumeShard(
  redis: Redis,
  shard: ShardKeys,
  options: StreamGroupOptions,
  { handle, discard, onTurn }: Handlers,
  signal: AbortSignal,
): Promise<void> {
  const { batchSize = 500, gatherMs = 50, newConsumer = () => redis.duplicate() } = options;
  const { claimIdleMs = 5_000, retireIdleMs = 60_000 } = options;
  const blocking = newConsumer();
  const reader = streamReader(redis, blocking, shard, { batchSize, claimIdleMs, retireIdleMs });
  await whenReady(blocking, 2_000);
  while (!signal.aborted) {
    try {
      const { taken, malformed } = await reader.next();
      onTurn();
      if (taken.length > 0) await settle(redis, shard, taken, await handle(taken));
      for (const entry of malformed) await moveToDead(redis, shard, entry, discard);
      // One commit costs about as much as fifty.
      if (taken.length > 0 && taken.length < batchSize) await sleep(gatherMs);
    } catch (error) {
      reader.lookAgain();
      await recover(redis, blocking, shard, error);
    }
  }
  await reader.leave().catch(() => {}); // Another worker removes the name later.
  blocking.disconnect();
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

/**
 * An entry that is not an order can never be recorded: it is moved to the dead letters, whole, and
 * acknowledged.
 */
async function moveToDead(
  redis: Redis,
  { orders, queued, dead }: ShardKeys,
  { entryId, fields, cause }: Malformed,
  discard: Discard,
): Promise<void> {
  const orderId = fieldOf(fields, 'orderId');
  const note = orderId === undefined ? null : await redis.hget(queued, orderId);
  const [voucherId = '', userId = ''] = (note ?? '').split(':');
  const noted = note === null ? undefined : { voucherId, userId };
  if (!(await discard({ cause, orderId, noted }))) return;
  const letter = ['reason', 'malformed', 'cause', cause, ...fields];
  const move = redis.multi().xadd(dead, '*', ...letter);
  move.xack(orders, orderGroup, entryId).xdel(orders, entryId);
  throwFirst(await move.hdel(queued, orderId ?? '').exec());
}

const isGroupLost = (error: unknown): boolean =>
  error instanceof Error && /^(NOGROUP|UNBLOCKED)/.test(error.message);

function throwFirst(results: [Error | null, unknown][] | null): void {
  for (const [error] of results ?? []) if (error) throw error;
}
