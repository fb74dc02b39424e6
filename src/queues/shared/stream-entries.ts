/**
 * The end of a stream's entries. An entry of several orders is done when all of them are; when only
 * some are, it is split, and from then on each of the others is delivered alone.
 */
import type { Redis } from 'ioredis';
import { orderGroup, type ShardKeys } from '../../connections/sale-keys.ts';
import { loadScript, runScript } from '../../connections/scripts.ts';
import { groupBy } from '../../grouping.ts';
import type { Discard } from '../order-queue.ts';
import { asLetter } from './dead-letter.ts';
import { fieldOf } from './order-fields.ts';
import { readNote } from './queued-note.ts';
import { throwFirst } from './redis-queue.ts';
import type { Batch, Malformed, Part } from './stream-reader.ts';

const split = loadScript('sale/split-entry');

/**
 * @param settled the ids of the orders that are recorded or dead-lettered
 * @returns how many orders of the batch these are
 */
export async function acknowledge(
  redis: Redis,
  shard: ShardKeys,
  { taken, malformed }: Pick<Batch, 'taken' | 'malformed'>,
  settled: ReadonlySet<string>,
): Promise<number> {
  const done = taken.filter(({ order }) => settled.has(order.id));
  const undone = taken.filter(({ order }) => !settled.has(order.id));
  const left = groupBy<Part>([...undone, ...malformed], ({ entryId }) => entryId);
  const doneIn = new Set(done.map(({ entryId }) => entryId));
  const poisoned = malformed.filter(({ isShared }) => isShared).map(({ entryId }) => entryId);
  const whole = [...doneIn].filter((entryId) => !left.has(entryId));
  const orderIds = done.map(({ order }) => order.id);
  if (done.length > 0) await remove(redis, shard, whole, orderIds);
  for (const [entryId, parts] of left)
    if (doneIn.has(entryId) || poisoned.includes(entryId))
      await splitEntry(redis, shard, entryId, parts);
  return done.length;
}

/**
 * Acknowledges and removes in one transaction: an acknowledged entry that stayed would count as
 * depth for ever.
 */
async function remove(
  redis: Redis,
  { orders, queued }: ShardKeys,
  entryIds: readonly string[],
  orderIds: readonly string[],
): Promise<void> {
  const removal = redis.multi().hdel(queued, ...orderIds);
  if (entryIds.length > 0) removal.xack(orders, orderGroup, ...entryIds).xdel(orders, ...entryIds);
  throwFirst(await removal.exec());
}

async function splitEntry(
  redis: Redis,
  { orders }: ShardKeys,
  entryId: string,
  parts: readonly Part[],
): Promise<void> {
  const args = parts.flatMap(({ fields }) => [String(fields.length), ...fields]);
  await runScript(redis, split, [orders], [orderGroup, entryId, ...args]);
}

/**
 * An entry that is not an order can never be recorded: it is moved to the dead letters, whole, and
 * acknowledged.
 * @returns how many were moved: none when that must wait, or its entry had other orders.
 */
export async function moveToDead(
  redis: Redis,
  shard: ShardKeys,
  { entryId, fields, cause, attempt: deliveries, isShared }: Malformed,
  discard: Discard,
): Promise<0 | 1> {
  if (isShared) return 0;
  const { orders, queued, dead } = shard;
  const orderId = fieldOf(fields, 'orderId');
  const noted = await readNote(redis, shard, orderId);
  if (!(await discard({ cause, orderId, noted }))) return 0;
  const letter = asLetter({ cause, deliveries, noted }, fields);
  await redis.xlen(dead); // A MULTI does not roll back: a key of a wrong type must fail before it.
  const move = redis.multi().xadd(dead, '*', ...letter);
  move.xack(orders, orderGroup, entryId).xdel(orders, entryId);
  throwFirst(await move.hdel(queued, orderId ?? '').exec());
  return 1;
}
