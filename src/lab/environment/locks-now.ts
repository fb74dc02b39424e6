/**
 * Which purchase has which lock now, and which wait: what the servers have, beside what the history
 * says. A key that no purchase of a living process holds is left over: until its lease ends.
 */
import type { HistoryEvent } from '../../service/trace/history.ts';
import type { LockKey } from './lock-keys.ts';

export interface LockNow {
  readonly resource: string;
  readonly server: string | null;
  readonly owner: string | null;
  readonly count: number;
  readonly leftMs: number | null;
  /** The purchases that hold it, by the history: `api-1, user 7, order 12`. */
  readonly holders: readonly string[];
  readonly waiting: readonly string[];
  /** Waiters of redis-fair that no living process has. */
  readonly ghosts: number;
}

type Lines = readonly HistoryEvent[];

const count = (events: Lines, wanted: string): number =>
  events.filter(({ event }) => event === wanted).length;
const isOver = (events: Lines): boolean => count(events, 'died') > 0;
const holds = (events: Lines): boolean =>
  !isOver(events) && count(events, 'granted') > count(events, 'releasing');
const waits = (events: Lines): boolean =>
  !isOver(events) &&
  count(events, 'requested') > count(events, 'granted') + count(events, 'denied');

/** @param events the lock events of living and dead processes, in order */
export function locksNow(events: Lines, keys: readonly LockKey[]): LockNow[] {
  const byResource = Map.groupBy(events, ({ resource = '' }) => resource);
  const named = (resource: string, is: (own: Lines) => boolean): string[] => {
    const byOrder = Map.groupBy(byResource.get(resource) ?? [], ({ orderId }) => orderId);
    return [...byOrder.values()].filter(is).map(([first]) => nameOf(first));
  };
  const about = (resource: string, queued = 0) => {
    const waiting = named(resource, waits);
    const ghosts = Math.max(0, queued - waiting.length);
    return { resource, holders: named(resource, holds), waiting, ghosts };
  };
  const inServers = keys.map(({ queued, ...key }) => ({ ...key, ...about(key.resource, queued) }));
  const known = new Set(keys.map(({ resource }) => resource));
  const elsewhere = [...byResource.keys()]
    .filter((resource) => !known.has(resource))
    .map((resource) => ({ ...about(resource), ...nowhere }))
    .filter(({ holders, waiting }) => holders.length + waiting.length > 0);
  return [...inServers, ...elsewhere];
}

/** A lock of ZooKeeper or of a process has no key in Redis. */
const nowhere = { server: null, owner: null, count: 1, leftMs: null };

const nameOf = (event: HistoryEvent | undefined): string =>
  event === undefined ? '' : `${event.instance}, user ${event.userId}, order ${event.orderId}`;
