/**
 * An order as a queue stores it, and back: as the fields of a stream entry, as one text where
 * entries have no fields, as a dead letter; and the note about it that every queue keeps.
 */

import type { ChainableCommander, Redis } from 'ioredis';
import { pairsOf } from '../../connections/pairs.ts';
import type { ShardKeys } from '../../connections/sale-keys.ts';
import { isId, type Order } from '../../domain.ts';
import type { Poison } from '../order-queue.ts';

/** What MySQL can store: a field that it would refuse makes the entry a poison message. */
const forms = {
  id: { name: 'orderId', isRight: isId, form: 'an id' },
  voucherId: { name: 'voucherId', isRight: isId, form: 'an id' },
  userId: { name: 'userId', isRight: isId, form: 'an id' },
  requestId: {
    name: 'requestId',
    isRight: (text: string) => /^[!-~]{1,64}$/.test(text),
    form: '1 to 64 visible ASCII characters',
  },
} as const;
const parts = ['id', 'voucherId', 'userId', 'requestId'] as const;

export const asFields = (order: Order): string[] =>
  parts.flatMap((part) => [forms[part].name, order[part]]);

/** @returns the order, or the cause why these fields are none. */
export function readOrder(fields: readonly string[]): Order | { readonly cause: string } {
  for (const part of parts) {
    const { name, isRight, form } = forms[part];
    const text = fieldOf(fields, name);
    if (text === undefined) return { cause: `${name} is missing` };
    if (!isRight(text)) return { cause: `${name} is not ${form}` };
  }
  const [id = '', voucherId = '', userId = '', requestId = ''] = parts.map((part) =>
    fieldOf(fields, forms[part].name),
  );
  return { id, voucherId, userId, requestId };
}

/** Of an entry of the stream. A part that is no order is left out. */
export const ordersOfEntry = (fields: readonly string[]): Order[] =>
  orderParts(fields)
    .map(readOrder)
    .filter((read): read is Order => !('cause' in read));

export function fieldOf(fields: readonly string[], name: string): string | undefined {
  const index = fields.findIndex((each, at) => at % 2 === 0 && each === name);
  return index < 0 ? undefined : fields[index + 1];
}

/**
 * The sale writes the orders of one call into one entry: the fields of each, one after the other. A
 * part begins with the order id, and has each field once: it never gets a field of its neighbour.
 */
export function orderParts(fields: readonly string[]): (readonly string[])[] {
  const parts: string[][] = [];
  let names = new Set<string>();
  for (const [name, value] of pairsOf(fields)) {
    if (parts.length === 0 || name === forms.id.name || names.has(name)) {
      parts.push([]);
      names = new Set();
    }
    names.add(name);
    parts.at(-1)?.push(name, value);
  }
  return parts;
}

export interface MalformedLetter extends Pick<Poison, 'cause' | 'noted'> {
  readonly deliveries: number;
}

/** `noted` is there for a malformed entry that is known to be this order of this user. */
export interface LetterFields {
  readonly reason: string;
  readonly cause?: string;
  /** Where it is known; letters of earlier versions do not have it. */
  readonly deliveries?: number;
  readonly noted?: Poison['noted'];
  /** The fields of the entry. */
  readonly entry: readonly string[];
}

/**
 * The fields of a dead letter: what is known about it, then the entry of the queue, whole. The
 * letter of an order is written by lua/sale/give-back.lua.
 */
export function asLetter(
  { cause, deliveries, noted }: MalformedLetter,
  entry: readonly string[],
): string[] {
  const note = noted ? `${noted.voucherId}:${noted.userId}` : '';
  const known = { reason: 'malformed', cause, deliveries: String(deliveries), noted: note };
  return [...Object.entries(known).flat(), ...entry];
}

const known = ['reason', 'cause', 'deliveries', 'noted'];

export function readLetter(fields: readonly string[]): LetterFields {
  const found = new Map<string, string>();
  let from = 0;
  for (const name of known) {
    if (fields[from] !== name) continue;
    found.set(name, fields[from + 1] ?? '');
    from += 2;
  }
  const entry = fields.slice(from);
  const [cause, deliveries, note] = ['cause', 'deliveries', 'noted'].map((name) => found.get(name));
  const [voucherId = '', userId = ''] = (note ?? '').split(':');
  return {
    reason: found.get('reason') ?? fieldOf(entry, 'reason') ?? '', // Earlier: among the fields.
    entry,
    ...(cause !== undefined && { cause }),
    ...(deliveries && { deliveries: Number(deliveries) }),
    ...(note && { noted: { voucherId, userId } }),
  };
}

/** An entry of a queue, as it was read: an order, or a poison entry. */
export interface Entry {
  /** As the queue stores it. */
  readonly text: string;
  readonly read: Order | { readonly cause: string };
  /** How often it was delivered before, where the queue knows. */
  readonly delivered?: number;
}

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
