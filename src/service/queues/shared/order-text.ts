/**
 * An order as one text, for the queues whose entries have no fields; its dead letter; and the note
 * about it that every queue keeps.
 */
import type { ChainableCommander, Redis } from 'ioredis';
import type { ShardKeys } from '../../connections/sale-keys.ts';
import type { Order } from '../../domain.ts';
import type { Poison } from '../order-queue.ts';
import { asLetter, type MalformedLetter } from './dead-letter.ts';
import type { Entry } from './deliver.ts';
import { asFields, fieldOf, readOrder } from './order-fields.ts';

export const asText = (order: Order): string => JSON.stringify(asFields(order));

export function asEntry(text: string): Entry {
  const fields = fieldsOf(text);
  return { text, read: fields ? readOrder(fields) : { cause: 'it is not a list of fields' } };
}

export const orderIdOf = ({ read }: Entry): string => ('cause' in read ? '' : read.id);

/** What the queue noted about a poison entry, when it was published. */
export async function notedAbout(
  redis: Redis,
  shard: ShardKeys,
  { text }: Entry,
): Promise<Pick<Poison, 'orderId' | 'noted'>> {
  const orderId = fieldOf(fieldsOf(text) ?? [], 'orderId');
  return { orderId, noted: await readNote(redis, shard, orderId) };
}

export async function addDeadLetter(
  redis: Redis,
  { dead }: ShardKeys,
  { text }: Entry,
  letter: MalformedLetter,
): Promise<void> {
  await redis.xadd(dead, '*', ...asLetter(letter, fieldsOf(text) ?? ['text', text]));
}

function fieldsOf(text: string): string[] | null {
  try {
    const fields: unknown = JSON.parse(text);
    const isList = Array.isArray(fields) && fields.every((each) => typeof each === 'string');
    return isList ? fields : null;
  } catch {
    return null;
  }
}

/**
 * The note about an order that a queue keeps: with it, the order's user is told that it is queued,
 * and the purchase of a poison entry can be undone.
 */
export const noteQueued = (
  publication: ChainableCommander,
  { queued }: ShardKeys,
  { id, voucherId, userId }: Order,
): ChainableCommander => publication.hset(queued, id, `${voucherId}:${userId}`);

/** Undefined when there is no note of this order. */
export async function readNote(
  redis: Redis,
  { queued }: ShardKeys,
  orderId: string | undefined,
): Promise<Poison['noted']> {
  const note = orderId === undefined ? null : await redis.hget(queued, orderId);
  if (note === null) return undefined;
  const [voucherId = '', userId = ''] = note.split(':');
  return { voucherId, userId };
}
