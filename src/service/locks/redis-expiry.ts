/**
 * Idea. SET NX PX: the key expires by itself, so a dead owner blocks nobody for long. The release
 *   deletes the key.
 * Holds while. Every sale is shorter than the lease.
 * Breaks when. A sale stalls past its lease: it commits beside the next owner's sale, or its
 *   release deletes that owner's key, and a third request enters.
 * Source. The course notes' first SimpleRedisLock (SET with NX and EX, then DEL).
 */
import type { Redis } from 'ioredis';
import type { Lease, Lock, RedisLockOptions } from './lock.ts';
import { timedLease } from './shared/leases.ts';
import { type KeyAttempt, pollingLock } from './shared/server-lock.ts';

export function redisExpiryLock(redis: Redis, options: RedisLockOptions = {}): Lock {
  async function attempt({ resource, key, leaseMs }: KeyAttempt): Promise<Lease | null> {
    const release = async () => {
      await redis.del(key);
    };
    const askedAt = performance.now();
    // If the answer is lost, the SET may have taken effect: then the key expires.
    if ((await redis.set(key, 'locked', 'PX', leaseMs, 'NX')) !== 'OK') return null;
    return timedLease(resource, leaseMs - (performance.now() - askedAt), release);
  }

  return pollingLock(options, attempt);
}
