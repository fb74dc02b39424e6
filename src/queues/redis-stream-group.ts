/**
 * Idea. A stream and a consumer group: an order stays pending until it is acknowledged, whoever dies meanwhile.
 * Holds while. Redis keeps what it acknowledged. Each order is then delivered at least once.
 * Breaks when. An order is taken from stock and Redis or the process dies before the XADD; one script closes that gap.
 * Source. Redis, "Streams"; the course notes' last chapter, whose consumers all had one name and never claimed.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Connections } from '../connections/connections.ts';
import { orderGroup, saleKeys } from '../connections/sale-keys.ts';
import type { Order } from '../domain.ts';
import type { Delivery, Handle, OrderQueue } from './order-queue.ts';

const blockMs = 500;
type Entry = [id: string, fields: string[] | null];
interface Taken extends Delivery {
  readonly entryId: string;
}

export function open(connections: Connections): OrderQueue {
  const admin = connections.redis('admin');
  const { BATCH_SIZE: batchSize, BATCH_GATHER_MS: gatherMs, CLAIM_IDLE_MS: claimIdleMs } = connections.config;

  async function publish(order: Order): Promise<void> {
    const { id, voucherId, userId, requestId } = order;
    const fields = ['orderId', id, 'voucherId', voucherId, 'userId', userId, 'requestId', requestId];
    const publication = admin.multi().hset(saleKeys.queued, id, `${voucherId}:${userId}`);
    throwFirst(await publication.xadd(saleKeys.orders, '*', ...fields).exec());
  }

  async function consume(handle: Handle, signal: AbortSignal): Promise<void> {
    const blocking = connections.redis('consumer');
    const consumer = `${hostname()}-${process.pid}-${randomUUID()}`; // A new name each start: nobody else's pending list.
    let claimFrom = '0-0';
    let claimAt = 0;
    const next = async (): Promise<Taken[]> => {
      if (performance.now() < claimAt) return takeNew(blocking, admin, consumer, batchSize);
      const [cursor, taken] = await claimIdle(admin, consumer, claimIdleMs, claimFrom, batchSize);
      claimFrom = cursor;
      if (cursor === '0-0') claimAt = performance.now() + claimIdleMs / 2;
      return taken;
    };
    while (!signal.aborted) {
      try {
        const taken = await next();
        if (taken.length === 0) continue;
        await settle(admin, taken, await handle(taken));
        if (taken.length < batchSize) await sleep(gatherMs); // Let a batch gather: one commit costs about as much as fifty.
      } catch (error) {
        if (isGroupLost(error)) await createGroup(admin).catch(() => {});
        else await sleep(200); // Redis is away; what was in hand stays pending and is claimed later.
      }
    }
  }

  return { publish, consume, depth: () => admin.xlen(saleKeys.orders) };
}

/** From the beginning, never from `$`: a group that was lost must find every order that nobody settled. */
async function createGroup(redis: Redis): Promise<void> {
  await redis.xgroup('CREATE', saleKeys.orders, orderGroup, '0', 'MKSTREAM');
}

async function takeNew(redis: Redis, admin: Redis, consumer: string, count: number): Promise<Taken[]> {
  const from = ['STREAMS', saleKeys.orders, '>'] as const;
  const answer = await redis.xreadgroup(
    'GROUP',
    orderGroup,
    consumer,
    'COUNT',
    count,
    'BLOCK',
    blockMs,
    ...from,
  );
  const [stream] = (answer ?? []) as [string, Entry[]][];
  await moveMalformed(admin, stream?.[1] ?? []);
  return parse(stream?.[1] ?? [], () => 1);
}

/** Takes over what has been pending too long, this consumer's own included: a lost reply leaves entries with a live one. */
async function claimIdle(
  redis: Redis,
  consumer: string,
  idleMs: number,
  from: string,
  count: number,
): Promise<[cursor: string, Taken[]]> {
  const answer = await redis.xautoclaim(saleKeys.orders, orderGroup, consumer, idleMs, from, 'COUNT', count);
  const [cursor, entries] = answer as [string, Entry[]];
  await moveMalformed(redis, entries);
  const [first, last] = [entries.at(0)?.[0], entries.at(-1)?.[0]];
  if (first === undefined || last === undefined) return [cursor, []];
  const pending = await redis.xpending(saleKeys.orders, orderGroup, first, last, count, consumer);
  const attempts = new Map(
    (pending as [string, string, number, number][]).map(([id, , , times]) => [id, times]),
  );
  return [cursor, parse(entries, (id) => attempts.get(id) ?? 1)];
}

/** Acknowledges and removes in one transaction: an acknowledged entry that stayed would count as depth for ever. */
async function settle(redis: Redis, taken: readonly Taken[], settled: ReadonlySet<string>): Promise<void> {
  const done = taken.filter(({ order }) => settled.has(order.id));
  if (done.length === 0) return;
  const entryIds = done.map(({ entryId }) => entryId);
  const orderIds = done.map(({ order }) => order.id);
  const settlement = redis.multi().xack(saleKeys.orders, orderGroup, ...entryIds);
  throwFirst(
    await settlement
      .xdel(saleKeys.orders, ...entryIds)
      .hdel(saleKeys.queued, ...orderIds)
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
  const [id, voucherId, userId, requestId] = ['orderId', 'voucherId', 'userId', 'requestId'].map(at);
  return id && voucherId && userId && requestId ? { id, voucherId, userId, requestId } : null;
}

/** What is no order can never be recorded: it is moved to the dead, whole, and acknowledged. */
async function moveMalformed(redis: Redis, entries: readonly Entry[]): Promise<void> {
  for (const [entryId, fields] of entries) {
    if (!fields || asOrder(fields)) continue;
    const move = redis.multi().xadd(saleKeys.dead, '*', 'reason', 'malformed', ...fields);
    throwFirst(await move.xack(saleKeys.orders, orderGroup, entryId).xdel(saleKeys.orders, entryId).exec());
  }
}

const isGroupLost = (error: unknown): boolean =>
  error instanceof Error && /^(NOGROUP|UNBLOCKED)/.test(error.message);

function throwFirst(results: [Error | null, unknown][] | null): void {
  for (const [error] of results ?? []) if (error) throw error;
}
