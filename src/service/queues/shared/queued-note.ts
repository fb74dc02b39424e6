/**
 * The note about an order that a queue keeps: with it, the order's user is told that it is queued,
 * and the purchase of a poison entry can be undone.
 */
import type { ChainableCommander, Redis } from 'ioredis';
import type { ShardKeys } from '../../connections/sale-keys.ts';
import type { Order } from '../../domain.ts';
import type { Poison } from '../order-queue.ts';

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
