/**
 * Which purchase has which lock now, and which wait: what the servers have, beside what the history
 * says. A key that no purchase of a living process holds is left over: until its lease ends.
 */

import type { Redis } from 'ioredis';
import type { Zookeeper, ZookeeperSession } from '../../service/connections/zookeeper.ts';
import { createdBy, namesIn } from '../../service/connections/zookeeper-nodes.ts';
import { defaultKeyPrefix } from '../../service/locks/lock.ts';
import {
  defaultFolder,
  inTurn,
  nodesOf,
  resourceNamed,
} from '../../service/locks/shared/zookeeper-queue.ts';
import type { HistoryEvent } from '../../service/trace/history.ts';
import type { Lab } from './lab.ts';
import { withRedis } from './replication.ts';

export type PurchaseAtLock = Pick<HistoryEvent, 'instance' | 'userId' | 'orderId'>;

export interface LockNow {
  readonly resource: string;
  readonly server: string | null;
  readonly owner: string | null;
  readonly count: number;
  readonly leftMs: number | null;
  /** The purchases that hold it, by the history. */
  readonly holders: readonly PurchaseAtLock[];
  readonly waiting: readonly PurchaseAtLock[];
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
  const named = (resource: string, is: (own: Lines) => boolean): PurchaseAtLock[] => {
    const byOrder = Map.groupBy(byResource.get(resource) ?? [], ({ orderId }) => orderId);
    return [...byOrder.values()].filter(is).flatMap(([first]) => (first ? purchaseOf(first) : []));
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

const purchaseOf = ({ instance, userId, orderId }: HistoryEvent): PurchaseAtLock => ({
  instance,
  userId,
  orderId,
});

type LockNode = LockKey & { readonly createdBy: bigint };

/**
 * The locks that are nodes in ZooKeeper: the first node of a folder is the owner's. The oldest
 * first; a lock that is released meanwhile is left out.
 */
export async function zookeeperLocks(
  zookeeper: Zookeeper,
  isWanted: (resource: string) => boolean,
): Promise<LockKey[]> {
  const session = zookeeper.session();
  const resources = (await namesIn(session, defaultFolder)).map(resourceNamed).filter(isWanted);
  const found = await Promise.all(resources.map((resource) => ownerOf(session, resource)));
  return found
    .filter((lock) => lock !== null)
    .sort((one, other) => Number(one.createdBy - other.createdBy));
}

async function ownerOf(session: ZookeeperSession, resource: string): Promise<LockNode | null> {
  const [owner, ...waiting] = inTurn(await namesIn(session, nodesOf(resource)));
  if (owner === undefined) return null;
  const transaction = await createdBy(session, `${nodesOf(resource)}/${owner}`);
  if (transaction === null) return null;
  const lock = { resource, owner, server: 'zookeeper', count: 1, leftMs: null };
  return { ...lock, queued: waiting.length, createdBy: transaction };
}

export interface LockKey {
  readonly server: string;
  readonly resource: string;
  /** The owner’s id, as the lock wrote it. */
  readonly owner: string;
  /** How often the owner has acquired it. */
  readonly count: number;
  /** In milliseconds; null: it has no expiry. */
  readonly leftMs: number | null;
  /** The waiters that redis-fair has in its queue. */
  readonly queued: number;
}

/** Of every Redis that runs. A key that goes meanwhile is left out. */
export async function lockKeys(lab: Lab): Promise<LockKey[]> {
  const names = lab.servers
    .map(({ name }) => name)
    .filter((name) => /^redis-(main|\d)$/.test(name));
  const found = await Promise.all(names.map((name) => lockKeysOf(lab, name)));
  return found.flatMap((keys) => keys ?? []);
}

/** @returns null when this Redis does not answer */
export const lockKeysOf = (lab: Lab, name: string): Promise<LockKey[] | null> =>
  withRedis(lab.portOf(name), (redis) => keysIn(redis, name)).catch(() => null);

async function keysIn(redis: Redis, server: string): Promise<LockKey[]> {
  const keys: string[] = [];
  for await (const batch of redis.scanStream({ match: `${defaultKeyPrefix}*`, count: 1_000 }))
    keys.push(...(batch as string[]));
  const locks = await Promise.all([...new Set(keys)].map((key) => lockIn(redis, server, key)));
  return locks.filter((lock) => lock !== null);
}

async function lockIn(redis: Redis, server: string, key: string): Promise<LockKey | null> {
  const kind = await redis.type(key);
  if (kind !== 'string' && kind !== 'hash') return null;
  const [[owner = '', count = '1'] = []] =
    kind === 'hash' ? Object.entries(await redis.hgetall(key)) : [[(await redis.get(key)) ?? '']];
  const leftMs = await redis.pttl(key);
  if (leftMs === -2) return null;
  return {
    server,
    owner,
    count: Number(count),
    leftMs: leftMs === -1 ? null : leftMs,
    resource: key.slice(defaultKeyPrefix.length),
    queued: await redis.llen(`redisson_lock_queue:{${key}}`),
  };
}
