/** The locks that are keys in the Redis servers of the lab, and the waiters of redis-fair. */
import type { Redis } from 'ioredis';
import { defaultKeyPrefix } from '../../service/locks/lock.ts';
import type { Lab } from './lab.ts';
import { withRedis } from './replication.ts';

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
    ...{ server, owner, count: Number(count), leftMs: leftMs === -1 ? null : leftMs },
    resource: key.slice(defaultKeyPrefix.length),
    queued: await redis.llen(`redisson_lock_queue:{${key}}`),
  };
}
