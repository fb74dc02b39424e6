/**
 * Idea. SET NX PX with a random owner; one script compares and deletes, so no owner deletes
 *   another's key.
 * Holds while. The sale is shorter than the lease, and the Redis master keeps its data.
 * Breaks when. The sale outlasts the lease, its process is paused past it, or a replica without the
 *   key is promoted.
 * Source. Redis, "Distributed locks with Redis"; the course notes' last SimpleRedisLock, with
 *   unlock.lua.
 */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { loadScript, runScript } from '../connections/scripts.ts';
import { checkpoint } from '../trace/checkpoints.ts';
import type { Lease, Lock, RedisLockOptions } from './lock.ts';
import { type KeyAttempt, KeyLeases, pollingLock } from './shared/server-lock.ts';

const releaseIfOwner = loadScript('locks/release-if-owner');

/** A key with an owner and an expiry. One who waits asks again and again. @throws OptionInvalid */
export function redisAtomicLock(redis: Redis, options: RedisLockOptions = {}): Lock {
  const leases = new KeyLeases(redis, options);

  async function attempt({ resource, key, leaseMs }: KeyAttempt): Promise<Lease | null> {
    const owner = randomUUID();
    const ask = () => redis.set(key, owner, 'PX', leaseMs, 'NX');
    const release = () => runScript(redis, releaseIfOwner, [key], [owner]);
    const beforeRelease = () => checkpoint('before-compare');
    return leases.lease({ resource, leaseMs, ask, release, beforeRelease });
  }

  return pollingLock(options, attempt);
}
