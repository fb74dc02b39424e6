/**
 * One consumer of a shard's stream. It takes new orders, from time to time orders that another
 * consumer left unsettled, and after an error its own: Redis may have handed them to a connection
 * that was already dead. The way of an entry:
 *
 *   XADD → in the stream
 *     │ XREADGROUP >       a new entry
 *     ▼
 *   pending for a consumer ◄─┐ XAUTOCLAIM      idle for too long: another consumer's now
 *     │                      ┘ XREADGROUP 0    after an error: the consumer's own, once more
 *     ├─ all its orders are settled ──► XACK, XDEL
 *     ├─ some are ────────────────────► split: the others are entries of their own, and new
 *     └─ it can never be recorded ────► dead letters, XACK, XDEL
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import { blockMsMax } from '../../connections/redis.ts';
import { orderGroup, type ShardKeys } from '../../connections/sale-keys.ts';
import { loadScript, runScript } from '../../connections/scripts.ts';
import type { Delivery, Discard } from '../order-queue.ts';
import { asLetter, fieldOf, orderParts, readNote, readOrder } from './order-fields.ts';
import { throwFirst } from './redis-queue.ts';

export type Entry = [id: string, fields: string[] | null];
interface PartOfEntry {
  readonly entryId: string;
  readonly fields: readonly string[];
}
export type TakenEntry = PartOfEntry & Delivery;
export interface MalformedEntry extends PartOfEntry {
  readonly cause: string;
  readonly attempt: number;
}
export type Part = TakenEntry | MalformedEntry;
/** An entry, split into orders and malformed parts. One call of the script writes one entry. */
export type ReadEntry = readonly Part[];
export interface Batch {
  readonly entries: readonly ReadEntry[];
  /** The read has reached its limit: more entries wait. */
  readonly hasMore: boolean;
}

export interface ReaderOptions {
  /** Target number of orders per read; entries per read follow from their mean size. */
  readonly batchSize: number;
  readonly claimIdleMs: number;
  readonly retireIdleMs: number;
}

/** `blocking` waits in XREADGROUP; every other command is sent on `redis`. */
export function streamReader(
  redis: Redis,
  blocking: Redis,
  shard: ShardKeys,
  { batchSize, claimIdleMs, retireIdleMs }: ReaderOptions,
) {
  const name = newConsumerName();
  const consumer = new Consumer(redis, blocking, shard.orders, name, batchSize);
  let claimFrom = '0-0';
  let claimAt = 0;
  let isClaiming = false;
  /** Where it reads its own pending entries; null: it does not look for them. */
  let ownFrom: string | null = null;
  /** Until then Redis may serve a read on a connection that is dead, and so hand it more. */
  let ownUntil = 0;

  async function claim(): Promise<Batch> {
    isClaiming = true;
    const [cursor, batch] = await consumer.claimIdle(claimIdleMs, claimFrom);
    claimFrom = cursor;
    if (cursor === '0-0') claimAt = Infinity; // New orders first: claims must not starve them.
    if (cursor === '0-0') await removeConsumers(redis, shard, retireIdleMs);
    return batch;
  }

  async function takeOwn(after: string): Promise<Batch> {
    const [last, batch] = await consumer.readOwn(after);
    ownFrom = last ?? (performance.now() < ownUntil ? '0-0' : null);
    return batch;
  }

  async function next(): Promise<Batch> {
    if (performance.now() >= claimAt) return claim();
    isClaiming = false;
    const own = ownFrom === null ? null : await takeOwn(ownFrom);
    if (own && own.entries.length > 0) return own;
    claimAt = Math.min(claimAt, performance.now() + claimIdleMs / 2);
    return consumer.readNew();
  }

  return {
    /** Waits for new orders, `blockMsMax` at most. */
    next,
    /** After an error: the consumer looks for orders that it has, and nobody handles. */
    lookAgain: () => {
      ownFrom = '0-0';
      ownUntil = performance.now() + 2 * blockMsMax;
    },
    /**
     * Nothing of the batch could be settled: if it was claimed, the next claim has to wait.
     * Otherwise the whole backlog would be claimed in a loop while MySQL is away.
     */
    endClaims: () => {
      if (isClaiming) claimAt = Infinity; // Until new orders were read.
    },
    /** Removes the consumer from the group, unless orders are pending for it. */
    leave: () => removeConsumers(redis, shard, 0, name),
  };
}

/** Most orders of an entry: those of one call of the script. */
const ordersInEntryMax = 100;

class Consumer {
  readonly #redis: Redis;
  readonly #blocking: Redis;
  readonly #orders: string;
  readonly #name: string;
  readonly #batchSize: number;
  /** The orders of an entry of the last batch, on average. */
  #inEntry = ordersInEntryMax;

  constructor(redis: Redis, blocking: Redis, orders: string, name: string, batchSize: number) {
    this.#redis = redis;
    this.#blocking = blocking;
    this.#orders = orders;
    this.#name = name;
    this.#batchSize = batchSize;
  }

  async readNew(): Promise<Batch> {
    const most = ['COUNT', this.#count, 'BLOCK', blockMsMax] as const;
    const stream = ['STREAMS', this.#orders, '>'] as const;
    const group = ['GROUP', orderGroup, this.#name] as const;
    const answer = await this.#blocking.xreadgroup(...group, ...most, ...stream);
    return this.#batch(entriesOf(answer), () => 1);
  }

  /** Claims what has been pending too long, also from itself: an order may be left unsettled. */
  async claimIdle(idleMs: number, from: string): Promise<[cursor: string, Batch]> {
    const rest = [idleMs, from, 'COUNT', this.#count] as const;
    const answer = await this.#redis.xautoclaim(this.#orders, orderGroup, this.#name, ...rest);
    const [cursor, entries] = answer as [string, Entry[]];
    return [cursor, await this.#delivered(entries)];
  }

  /** Reads what is pending for this consumer, after this entry. */
  async readOwn(after: string): Promise<[last: string | undefined, Batch]> {
    const group = ['GROUP', orderGroup, this.#name] as const;
    const most = ['COUNT', this.#count, 'STREAMS', this.#orders, after] as const;
    const entries = entriesOf(await this.#redis.xreadgroup(...group, ...most));
    return [entries.at(-1)?.[0], await this.#delivered(entries)];
  }

  get #count(): number {
    return Math.ceil(this.#batchSize / this.#inEntry);
  }

  /** With the number of their deliveries. */
  async #delivered(entries: readonly Entry[]): Promise<Batch> {
    const first = entries.at(0)?.[0];
    const last = entries.at(-1)?.[0];
    if (first === undefined || last === undefined) return nothing;
    const range = [first, last, entries.length, this.#name] as const;
    const pending = await this.#redis.xpending(this.#orders, orderGroup, ...range);
    const attempts = new Map((pending as Pending[]).map(([id, , , times]) => [id, times]));
    return this.#batch(entries, (id) => attempts.get(id) ?? 1);
  }

  #batch(entries: readonly Entry[], attempt: (entryId: string) => number): Batch {
    const hasMore = entries.length === this.#count;
    const read = entries
      .map(([entryId, fields]) => readParts(entryId, fields ?? [], attempt(entryId)))
      .filter(({ length }) => length > 0); // Without fields it was deleted.
    if (read.length > 0) this.#inEntry = read.flat().length / read.length;
    return { entries: read, hasMore };
  }
}

const nothing: Batch = { entries: [], hasMore: false };

const readParts = (entryId: string, all: readonly string[], attempt: number): ReadEntry =>
  orderParts(all).map((fields) => {
    const read = readOrder(fields);
    const part = { entryId, fields, attempt };
    return 'cause' in read ? { ...part, cause: read.cause } : { ...part, order: read };
  });

/** As XPENDING answers. */
export type Pending = [id: string, consumer: string, idleMs: number, times: number];

function entriesOf(answer: unknown): Entry[] {
  const [stream] = (answer ?? []) as [string, Entry[]][];
  return stream?.[1] ?? [];
}

const removeIdle = loadScript('sale/remove-consumers');

/** How the consumers of a process of this machine are named. */
export const consumersOf = (pid: number): string => `${hostname()}-${pid}-`;

/** New at each start: what is pending under this name is this consumer's, and nobody else's. */
export const newConsumerName = (): string => `${consumersOf(process.pid)}${randomUUID()}`;

/**
 * Removes consumers that were idle for at least this time: all of them, or one. A dead process
 * leaves its names behind. Consumers with pending orders stay. A live consumer that is removed
 * comes back with its next read.
 */
export async function removeConsumers(
  redis: Redis,
  { orders }: ShardKeys,
  leastIdleMs: number,
  only = '',
): Promise<void> {
  await runScript(redis, removeIdle, [orders], [orderGroup, String(leastIdleMs), only]);
}

const settle = loadScript('sale/settle-entries');
const split = loadScript('sale/split-entry');
const move = loadScript('sale/move-to-dead');

/** Lua takes 8,000 arguments at most: a part with more fields and values cannot be split off. */
const fieldsMax = 4_000;
/** More are no argument list of a script: a MULTI writes such a letter, unless Redis is full. */
const letterArgumentsMax = 7_000;

/**
 * Splits entries into lists of at most `most` orders: the reader guesses how many orders an entry
 * has. An entry that is larger is a list of its own.
 */
export function cut(entries: readonly ReadEntry[], most: number): ReadEntry[][] {
  const lists: ReadEntry[][] = [];
  let size = most;
  for (const entry of entries) {
    if (size + entry.length > most) {
      lists.push([]);
      size = 0;
    }
    lists.at(-1)?.push(entry);
    size += entry.length;
  }
  return lists;
}

export const isOrder = (part: Part): part is TakenEntry => 'order' in part;

/**
 * An entry of several orders is done when all of them are; when only some are, it is split, and
 * from then on each of the others is delivered alone.
 * @param settled the ids of the orders that are recorded or dead-lettered
 * @returns how many orders of these entries they are
 */
export async function acknowledge(
  redis: Redis,
  shard: ShardKeys,
  entries: readonly ReadEntry[],
  settled: ReadonlySet<string>,
): Promise<number> {
  const isSettled = (part: Part) => isOrder(part) && settled.has(part.order.id);
  const whole = entries.filter((parts) => parts.every(isSettled));
  if (whole.length > 0) await remove(redis, shard, whole);
  for (const parts of entries) {
    const isMixed = parts.some(isSettled) && !parts.every(isSettled);
    const isPoisoned = parts.length > 1 && !parts.every(isOrder);
    if ((isMixed || isPoisoned) && !isTooLarge(parts))
      await splitEntry(redis, shard, parts, isSettled);
  }
  return entries.flat().filter(isSettled).length;
}

const isTooLarge = (parts: ReadEntry): boolean =>
  parts.some(({ fields }) => fields.length > fieldsMax);

async function remove(
  redis: Redis,
  { orders, queued }: ShardKeys,
  entries: readonly ReadEntry[],
): Promise<void> {
  const entryIds = entries.flatMap(([first]) => first?.entryId ?? []);
  const args = [orderGroup, String(entryIds.length), ...entryIds, ...orderIdsOf(entries.flat())];
  await runScript(redis, settle, [orders, queued], args);
}

async function splitEntry(
  redis: Redis,
  { orders, queued }: ShardKeys,
  parts: ReadEntry,
  isSettled: (part: Part) => boolean,
): Promise<void> {
  const entryId = parts[0]?.entryId ?? '';
  const done = orderIdsOf(parts.filter(isSettled));
  const left = parts.filter((part) => !isSettled(part));
  const args = left.flatMap(({ fields }) => [String(fields.length), ...fields]);
  const settled = [String(done.length), ...done];
  await runScript(redis, split, [orders, queued], [orderGroup, entryId, ...settled, ...args]);
}

const orderIdsOf = (parts: readonly Part[]): string[] =>
  parts.filter(isOrder).map(({ order }) => order.id);

/**
 * Moves an entry that can never be recorded to the dead letters, whole, and acknowledges it: it is
 * not an order, or it is too large to be split, and all its orders are settled.
 * @returns how many entries were moved: none when that must wait.
 */
export async function moveToDead(
  redis: Redis,
  shard: ShardKeys,
  parts: ReadEntry,
  settled: ReadonlySet<string>,
  discard: Discard,
): Promise<0 | 1> {
  const malformed = parts.filter((part): part is MalformedEntry => !isOrder(part));
  const orders = parts.filter(isOrder);
  const isWhole = parts.length === 1 || isTooLarge(parts);
  const [first] = malformed;
  if (!first || !isWhole || !orders.every(({ order }) => settled.has(order.id))) return 0;
  for (const { fields, cause } of malformed) {
    const orderId = fieldOf(fields, 'orderId');
    const noted = await readNote(redis, shard, orderId);
    if (!(await discard({ cause, orderId, noted }))) return 0;
  }
  await addLetter(redis, shard, first, parts);
  return 1;
}

async function addLetter(
  redis: Redis,
  shard: ShardKeys,
  { entryId, fields: own, cause, attempt: deliveries }: MalformedEntry,
  parts: ReadEntry,
): Promise<void> {
  const { orders, queued, dead } = shard;
  const noted = await readNote(redis, shard, fieldOf(own, 'orderId'));
  const fields = parts.flatMap((part) => part.fields);
  const letter = asLetter({ cause, deliveries, noted }, fields);
  const orderIds = parts.map((part) => fieldOf(part.fields, 'orderId') ?? '');
  if (letter.length < letterArgumentsMax) {
    const args = [orderGroup, entryId, String(orderIds.length), ...orderIds, ...letter];
    await runScript(redis, move, [orders, queued, dead], args);
    return;
  }
  await redis.xlen(dead); // A MULTI does not roll back: a key of a wrong type must fail before it.
  const moves = redis.multi().xadd(dead, '*', ...letter);
  moves.xack(orders, orderGroup, entryId).xdel(orders, entryId);
  throwFirst(await moves.hdel(queued, ...orderIds).exec());
}
