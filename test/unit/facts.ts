/** Facts and histories of one voucher, written by hand for the tests of the audit. */
import type { Miss, Place, ReachedPlace } from '../../src/lab/stage/place.ts';
import type { Attempt, Facts, OrderRow } from '../../src/service/audit/facts.ts';
import { type CheckpointName, checkpointNames } from '../../src/service/trace/checkpoints.ts';
import type { HistoryEvent } from '../../src/service/trace/history.ts';

export const row = (id: string, userId: string): OrderRow => ({
  id,
  userId,
  status: 'confirmed',
  reason: null,
});

const attempt = (
  userId: string,
  answer: Pick<Attempt, 'outcome' | 'orderId' | 'reason'>,
): Attempt => ({ userId, requestId: `r${userId}`, latencyMs: 1, ...answer });

export const accepted = (userId: string, orderId: string): Attempt =>
  attempt(userId, { outcome: 'accepted', orderId });

export const acceptedWithoutOrder = (userId: string): Attempt =>
  attempt(userId, { outcome: 'accepted' });

export const refused = (userId: string, reason: string): Attempt =>
  attempt(userId, { outcome: 'refused', reason });

export const alreadyOrdered = (userId: string, orderId: string): Attempt =>
  attempt(userId, { outcome: 'refused', reason: 'already-ordered', orderId });

export const unknown = (userId: string): Attempt => attempt(userId, { outcome: 'unknown' });

const nanoseconds = (ms: number | string): string => String(BigInt(ms) * 1_000_000n);

/** The attempt with the times when it was sent and answered, in milliseconds since the start. */
export const timed = (attempt: Attempt, sentMs: number, answeredMs: number): Attempt => ({
  ...attempt,
  sentAt: nanoseconds(sentMs),
  answeredAt: nanoseconds(answeredMs),
});

/** The fields of `Facts`, with those of `mysql` beside them. */
export type Given = Partial<
  Omit<Facts, 'mysql' | 'redis'> & Facts['mysql'] & { redis: Partial<NonNullable<Facts['redis']>> }
>;

/** Facts about locks alone: nobody bought, and nobody tried. */
export const lockFacts = (...lines: string[]): Given => ({
  ...{ stock: 3, orders: [], attempts: [], history: history(...lines) },
  redis: { stock: 3, buyers: {} },
});

/**
 * A sale without a fault: two of three sold, by Redis and by MySQL, both accepted, both with the
 * lock.
 */
export function facts({
  stock = 1,
  orders = [row('a', '1'), row('b', '2')],
  unitOrders,
  redis = {},
  ...given
}: Given = {}): Facts {
  return {
    voucherId: '9',
    createdAt: '',
    rung: 'lua-stream',
    onePerUser: true,
    locked: true,
    initialStock: 3,
    attempts: [accepted('1', 'a'), accepted('2', 'b')],
    history: history('0 a 1 granted', '1 a 1 releasing', '2 b 2 granted', '3 b 2 releasing'),
    ...given,
    mysql: { stock, orders, ...(unitOrders && { unitOrders }) },
    redis: { stock: 1, buyers: { 1: 'a', 2: 'b' }, queued: [], ...redis },
  };
}

const lockEvents = [
  'requested',
  'granted',
  'denied',
  'expired',
  'releasing',
  'released',
  'died',
] as const;
const purchaseEvents = [
  'received',
  'resumed',
  'committed',
  'duplicate',
  'accepted',
  'refused',
  'unknown',
  'recorded',
  'dead-lettered',
] as const;

const isOneOf = <Name extends string>(names: readonly Name[], name: string): name is Name =>
  names.some((known) => known === name);

/**
 * A history, its events with commas between them. `10 A 7 granted seat 5`: order A of user 7 was
 * granted the lock on `seat` 10 ms after the start, with the fence 5. The resource is `lock` when
 * it is missing. An answer may have a reason there: `11 A 7 refused busy`.
 */
export const history = (...lines: string[]): HistoryEvent[] =>
  lines.flatMap((line) => line.split(', ')).map(eventOf);

function eventOf(line: string): HistoryEvent {
  const [ms = '', orderId = '', userId = '', name = '', last, fence] = line.split(' ');
  const order = {
    ...{ at: nanoseconds(ms), instance: 'api-1', voucherId: '9', orderId, userId },
    requestId: `r${userId}`,
  };
  if (isOneOf(lockEvents, name))
    return { ...order, event: name, resource: last ?? 'lock', ...(fence && { fence }) };
  if (isOneOf(purchaseEvents, name))
    return { ...order, event: name, ...(last && { reason: last }) };
  if (isOneOf(checkpointNames, name)) return { ...order, event: 'checkpoint', checkpoint: name };
  throw new RangeError(`"${name}" is neither an event nor a checkpoint`);
}

/** Where a step of a race has left its lane. */
type LanePlace = Extract<Place, { readonly is: 'at' | 'answered' }>;
export const standsAt = (checkpoint: CheckpointName): LanePlace => ({
  ...{ is: 'at', checkpoint, instance: 'api-1' },
});
export const bought = (orderId: string): LanePlace => ({
  ...{ is: 'answered', attempt: { outcome: 'accepted', orderId } },
});
export const told = (reason: string): LanePlace => ({
  ...{ is: 'answered', attempt: { outcome: 'refused', reason } },
});
export const missed = (because: Miss): ReachedPlace => ({ is: 'missed', because });
