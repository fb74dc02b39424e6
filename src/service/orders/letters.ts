/** The dead letters of all shards, for an operator: lists them, shows one, and discards one. */

import type { Connections } from '../connections/connections.ts';
import type { ShardKeys } from '../connections/sale-keys.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { isId } from '../domain.ts';
import { serviceError } from '../errors.ts';
import { readLetter } from '../queues/shared/dead-letter.ts';
import { fieldOf } from '../queues/shared/order-fields.ts';

const discard = loadScript('sale/discard-letter');

export interface DeadLetter {
  /** `shard-milliseconds-number`: the shard, and the entry in its stream of dead letters. */
  readonly id: string;
  readonly deadAt: string;
  readonly reason: string;
  /** Of a malformed entry: the field that is wrong. */
  readonly cause?: string;
  /** How often the order was delivered. Letters of earlier versions do not have it. */
  readonly deliveries?: number;
  readonly orderId?: string;
  readonly voucherId?: string;
  readonly userId?: string;
  /** The order that a replay made. */
  readonly replayedAs?: string;
  /** Its entry, as the queue had it: field, value, field, value, … */
  readonly entry: readonly string[];
  /** False when nothing shows whose order it was. */
  readonly isOwnerKnown: boolean;
}

/** Where a letter is. */
export interface LetterPlace {
  readonly shard: ShardKeys;
  readonly entryId: string;
}

/** The oldest first, `most` at most; and how many there are. */
export async function listLetters(
  connections: Connections,
  most: number,
): Promise<{ letters: DeadLetter[]; total: number }> {
  const { shards } = connections.saleKeys;
  const found = await Promise.all(shards.map((_, shard) => lettersOf(connections, shard, most)));
  const redis = connections.redis('admin');
  const counts = await Promise.all(shards.map(({ dead }) => redis.xlen(dead)));
  const letters = found.flat().sort((one, other) => (one.deadAt < other.deadAt ? -1 : 1));
  return { letters: letters.slice(0, most), total: counts.reduce((sum, count) => sum + count, 0) };
}

async function lettersOf(
  connections: Connections,
  number: number,
  most: number,
): Promise<DeadLetter[]> {
  const shard = connections.saleKeys.shards[number] as ShardKeys;
  const redis = connections.redis('admin');
  const entries = await redis.xrange(shard.dead, '-', '+', 'COUNT', most);
  if (entries.length === 0) return [];
  const replayed = await redis.hmget(shard.replayed, ...entries.map(([entryId]) => entryId));
  return entries.map((entry, index) => asDeadLetter(number, entry, replayed[index] ?? null));
}

/** @throws UNKNOWN_DEAD_LETTER */
export async function findLetter(connections: Connections, id: string): Promise<DeadLetter> {
  const { shard, entryId } = placeOf(connections, id);
  const redis = connections.redis('admin');
  const [entry] = await redis.xrange(shard.dead, entryId, entryId);
  if (!entry) throw serviceError('UNKNOWN_DEAD_LETTER', id);
  return asDeadLetter(numberOf(id), entry, await redis.hget(shard.replayed, entryId));
}

/**
 * Removes the letter. Its order stays failed, and the order of a replay stays as it is.
 * @returns what was removed. @throws UNKNOWN_DEAD_LETTER also when another operator was faster.
 */
export async function discardLetter(connections: Connections, id: string): Promise<DeadLetter> {
  const letter = await findLetter(connections, id);
  const { shard, entryId } = placeOf(connections, id);
  const keys = [shard.dead, shard.replayed];
  const answer = await runScript(connections.redis('admin'), discard, keys, [entryId]);
  const [word, replayedAs] = answer as [string, string];
  if (word !== 'discarded') throw serviceError('UNKNOWN_DEAD_LETTER', id);
  return replayedAs === '' ? letter : { ...letter, replayedAs };
}

/** @throws UNKNOWN_DEAD_LETTER when no letter can have this id. */
export function placeOf({ saleKeys }: Connections, id: string): LetterPlace {
  const [, entryId] = /^\d{1,2}-(\d{1,19}-\d{1,19})$/.exec(id) ?? [];
  const shard = saleKeys.shards[numberOf(id)];
  if (!shard || entryId === undefined) throw serviceError('UNKNOWN_DEAD_LETTER', id);
  return { shard, entryId };
}

const numberOf = (id: string): number => Number(id.slice(0, id.indexOf('-')));

function asDeadLetter(
  shard: number,
  [entryId, fields]: [id: string, fields: string[]],
  replayedAs: string | null,
): DeadLetter {
  const { noted, ...letter } = readLetter(fields);
  const named = (name: string) => fieldOf(letter.entry, name);
  const [orderId, voucherId, userId] = [
    named('orderId'),
    noted?.voucherId ?? named('voucherId'),
    noted?.userId ?? named('userId'),
  ];
  const isOwnerKnown = letter.reason !== 'malformed' || noted !== undefined;
  return {
    id: `${shard}-${entryId}`,
    deadAt: new Date(Number(entryId.split('-')[0])).toISOString(),
    ...letter,
    ...(orderId !== undefined && { orderId }),
    ...(voucherId !== undefined && { voucherId }),
    ...(userId !== undefined && { userId }),
    ...(replayedAs !== null && { replayedAs }),
    isOwnerKnown: isOwnerKnown && [voucherId, userId].every((id) => isId(id ?? '')),
  };
}
