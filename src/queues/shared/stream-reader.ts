/**
 * One consumer of a shard's stream. It takes new orders, from time to time orders that another
 * consumer left unsettled, and after an error its own: Redis may have handed them to a connection
 * that was already dead.
 */
import type { Redis } from 'ioredis';
import { mostBlockMs } from '../../connections/redis.ts';
import { orderGroup, type ShardKeys } from '../../connections/sale-keys.ts';
import type { Order } from '../../domain.ts';
import type { Delivery } from '../order-queue.ts';
import { readOrder } from './order-fields.ts';
import { newConsumer, removeConsumers } from './stream-consumers.ts';

type Entry = [id: string, fields: string[] | null];
export interface Taken extends Delivery {
  readonly entryId: string;
}
export interface Malformed {
  readonly entryId: string;
  readonly fields: readonly string[];
  readonly cause: string;
  readonly attempt: number;
}
export interface Batch {
  readonly taken: readonly Taken[];
  readonly malformed: readonly Malformed[];
}

export interface ReaderOptions {
  readonly batchSize: number;
  readonly claimIdleMs: number;
  readonly retireIdleMs: number;
}

export interface StreamReader {
  /** Waits for new orders, `mostBlockMs` at most. */
  next(): Promise<Batch>;
  /** After an error: the consumer looks for orders that it has, and nobody handles. */
  lookAgain(): void;
  /**
   * Nothing of the batch could be settled: if it was claimed, the next claim has to wait. Otherwise
   * the whole backlog would be claimed in a loop while MySQL is away.
   */
  endClaims(): void;
  /** Removes the consumer from the group, unless orders are pending for it. */
  leave(): Promise<void>;
}

/** `blocking` waits in XREADGROUP; every other command is sent on `redis`. */
export function streamReader(
  redis: Redis,
  blocking: Redis,
  shard: ShardKeys,
  { batchSize, claimIdleMs, retireIdleMs }: ReaderOptions,
): StreamReader {
  const name = newConsumer();
  const consumer = { redis, blocking, orders: shard.orders, name, batchSize };
  let claimFrom = '0-0';
  let claimAt = 0;
  let isClaiming = false;
  let ownFrom: string | null = null;
  let ownUntil = 0;

  async function claim(): Promise<Batch> {
    isClaiming = true;
    const [cursor, batch] = await claimIdle(consumer, claimIdleMs, claimFrom);
    claimFrom = cursor;
    if (cursor === '0-0') claimAt = Infinity; // New orders first: claims must not starve them.
    if (cursor === '0-0') await removeConsumers(redis, shard, retireIdleMs);
    return batch;
  }

  async function takeOwn(after: string): Promise<Batch> {
    const [last, batch] = await readOwn(consumer, after);
    const isGhostPossible = performance.now() < ownUntil;
    ownFrom = last ?? (isGhostPossible ? '0-0' : null);
    return batch;
  }

  async function next(): Promise<Batch> {
    if (performance.now() >= claimAt) return claim();
    isClaiming = false;
    const own = ownFrom === null ? null : await takeOwn(ownFrom);
    if (own && own.taken.length + own.malformed.length > 0) return own;
    claimAt = Math.min(claimAt, performance.now() + claimIdleMs / 2);
    return readNew(consumer);
  }

  return {
    next,
    lookAgain: () => {
      ownFrom = '0-0';
      // Redis may still serve a read on the dead connection, until its BLOCK ends.
      ownUntil = performance.now() + 2 * mostBlockMs;
    },
    endClaims: () => {
      if (isClaiming) claimAt = Infinity; // Until new orders were read.
    },
    leave: () => removeConsumers(redis, shard, 0, name),
  };
}

interface Consumer {
  readonly redis: Redis;
  readonly blocking: Redis;
  readonly orders: string;
  readonly name: string;
  readonly batchSize: number;
}

async function readNew({ blocking, orders, name, batchSize }: Consumer): Promise<Batch> {
  const group = ['GROUP', orderGroup, name] as const;
  const most = ['COUNT', batchSize, 'BLOCK', mostBlockMs] as const;
  const answer = await blocking.xreadgroup(...group, ...most, 'STREAMS', orders, '>');
  return asBatch(entriesOf(answer), () => 1);
}

/** Claims what has been pending too long, also from itself: an order may be left unsettled. */
async function claimIdle(
  consumer: Consumer,
  idleMs: number,
  from: string,
): Promise<[cursor: string, Batch]> {
  const { redis, orders, name, batchSize } = consumer;
  const rest = [idleMs, from, 'COUNT', batchSize] as const;
  const answer = await redis.xautoclaim(orders, orderGroup, name, ...rest);
  const [cursor, entries] = answer as [string, Entry[]];
  return [cursor, await delivered(consumer, entries)];
}

/** Reads what is pending for this consumer, after this entry. */
async function readOwn(
  consumer: Consumer,
  after: string,
): Promise<[last: string | undefined, Batch]> {
  const { redis, orders, name, batchSize } = consumer;
  const group = ['GROUP', orderGroup, name] as const;
  const answer = await redis.xreadgroup(...group, 'COUNT', batchSize, 'STREAMS', orders, after);
  const entries = entriesOf(answer);
  return [entries.at(-1)?.[0], await delivered(consumer, entries)];
}

/** With the number of their deliveries. */
async function delivered(
  { redis, orders, name }: Consumer,
  entries: readonly Entry[],
): Promise<Batch> {
  const first = entries.at(0)?.[0];
  const last = entries.at(-1)?.[0];
  if (first === undefined || last === undefined) return { taken: [], malformed: [] };
  const range = [first, last, entries.length, name] as const;
  const pending = (await redis.xpending(orders, orderGroup, ...range)) as Pending[];
  const attempts = new Map(pending.map(([id, , , times]) => [id, times]));
  return asBatch(entries, (id) => attempts.get(id) ?? 1);
}

/** As XPENDING answers. */
export type Pending = [id: string, consumer: string, idleMs: number, times: number];

function entriesOf(answer: unknown): Entry[] {
  const [stream] = (answer ?? []) as [string, Entry[]][];
  return stream?.[1] ?? [];
}

function asBatch(entries: readonly Entry[], attempt: (entryId: string) => number): Batch {
  const taken: Taken[] = [];
  const malformed: Malformed[] = [];
  for (const [entryId, fields] of entries) {
    if (!fields) continue; // It was deleted.
    const read = readOrder(fields);
    const entry = { entryId, attempt: attempt(entryId) };
    if (isOrder(read)) taken.push({ ...entry, order: read });
    else malformed.push({ ...entry, fields, cause: read.cause });
  }
  return { taken, malformed };
}

const isOrder = (read: Order | { readonly cause: string }): read is Order => !('cause' in read);
