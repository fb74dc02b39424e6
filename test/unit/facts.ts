/** Facts and histories of one voucher, written by hand for the tests of the audit. */
import type { Attempt, Facts, OrderRow } from '../../src/audit/facts.ts';
import { checkpointNames } from '../../src/trace/checkpoints.ts';
import type { HistoryEvent } from '../../src/trace/history.ts';

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

/** The fields of `Facts`, with those of `mysql` beside them. */
export type Given = Partial<
  Omit<Facts, 'mysql' | 'redis'> & Facts['mysql'] & { redis: Partial<NonNullable<Facts['redis']>> }
>;

/** A sale without a fault: two of three sold, by Redis and by MySQL, both accepted. */
export function facts({
  stock = 1,
  orders = [row('a', '1'), row('b', '2')],
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
    history: [],
    ...given,
    mysql: { stock, orders },
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
const answers = ['accepted', 'refused', 'unknown', 'recorded'] as const;

const isOneOf = <Name extends string>(names: readonly Name[], name: string): name is Name =>
  names.some((known) => known === name);

/**
 * A history, one event in a line. `10 A 7 granted seat`: order A of user 7 was granted the lock on
 * `seat` 10 ms after the start. The resource is `lock` when it is missing. An answer may have a
 * reason there: `11 A 7 refused busy`.
 */
export const history = (...lines: string[]): HistoryEvent[] => lines.map(eventOf);

function eventOf(line: string): HistoryEvent {
  const [ms = '', orderId = '', userId = '', name = '', last] = line.split(' ');
  const order = {
    at: String(Number(ms) * 1e6),
    instance: 'api-1',
    voucherId: '9',
    orderId,
    userId,
  };
  if (isOneOf(lockEvents, name)) return { ...order, event: name, resource: last ?? 'lock' };
  if (isOneOf(answers, name)) return { ...order, event: name, ...(last && { reason: last }) };
  if (isOneOf(checkpointNames, name)) return { ...order, event: 'checkpoint', checkpoint: name };
  throw new RangeError(`"${name}" is neither an event nor a checkpoint`);
}
