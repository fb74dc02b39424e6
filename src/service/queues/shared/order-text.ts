/** An order as one text, for the queues whose entries have no fields; and its dead letter. */
import type { Redis } from 'ioredis';
import type { ShardKeys } from '../../connections/sale-keys.ts';
import type { Order } from '../../domain.ts';
import type { Poison } from '../order-queue.ts';
import { asLetter, type MalformedLetter } from './dead-letter.ts';
import type { Entry } from './deliver.ts';
import { asFields, fieldOf, readOrder } from './order-fields.ts';
import { readNote } from './queued-note.ts';

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
