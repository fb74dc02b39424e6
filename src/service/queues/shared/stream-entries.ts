/**
 * The end of a stream's entries. An entry of several orders is done when all of them are; when only
 * some are, it is split, and from then on each of the others is delivered alone.
 */
import type { Redis } from 'ioredis';
import { orderGroup, type ShardKeys } from '../../connections/sale-keys.ts';
import { loadScript, runScript } from '../../connections/scripts.ts';
import type { Discard } from '../order-queue.ts';
import { asLetter } from './dead-letter.ts';
import { fieldOf } from './order-fields.ts';
import { readNote } from './order-text.ts';
import { throwFirst } from './redis-queue.ts';
import type { MalformedEntry, Part, ReadEntry, TakenEntry } from './stream-reader.ts';

const settle = loadScript('sale/settle-entries');
const split = loadScript('sale/split-entry');
const move = loadScript('sale/move-to-dead');

/** Lua takes 8,000 arguments at most: a part with more fields and values cannot be split off. */
const fieldsMax = 4_000;
/** A larger letter is no argument list of a script: it waits while Redis is full. */
const lettersInMessageMax = 7_000;

/**
 * Splits entries, which may grow from one read to the next, into lists of at most `most` orders.
 * An entry that is larger is a list of its own.
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
  if (letter.length < lettersInMessageMax) {
    const args = [orderGroup, entryId, String(orderIds.length), ...orderIds, ...letter];
    await runScript(redis, move, [orders, queued, dead], args);
    return;
  }
  await redis.xlen(dead); // A MULTI does not roll back: a key of a wrong type must fail before it.
  const moves = redis.multi().xadd(dead, '*', ...letter);
  moves.xack(orders, orderGroup, entryId).xdel(orders, entryId);
  throwFirst(await moves.hdel(queued, ...orderIds).exec());
}
