/**
 * The fields of a dead letter: what is known about it, then the entry of the queue, whole. The
 * letter of an order is written by lua/sale/give-back.lua.
 */
import type { Poison } from '../order-queue.ts';
import { fieldOf } from './order-fields.ts';

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
