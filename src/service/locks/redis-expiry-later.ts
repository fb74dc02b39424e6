/**
 * Idea. SETNX, then EXPIRE: two commands, so that the key of a dead owner expires.
 * Holds while. Every owner lives until the second command, and every sale is shorter than the
 *   lease.
 * Breaks when. The owner dies between the two: the key has no expiry, and nobody can buy.
 * Source. The course notes' SETNX and EXPIRE, which they replace by one SET with NX and EX.
 */
import type { Redis } from 'ioredis';
import { checkpoint } from '../trace/checkpoints.ts';
import type { Lease, Lock, RedisLockOptions } from './lock.ts';
import { timedLease } from './shared/leases.ts';
import { type KeyAttempt, pollingLock } from './shared/server-lock.ts';

export function redisExpiryLaterLock(redis: Redis, options: RedisLockOptions = {}): Lock {
  async function attempt({ resource, key, leaseMs }: KeyAttempt): Promise<Lease | null> {
    const release = async () => {
      await redis.del(key);
    };
    const askedAt = performance.now();
    // If an answer is lost, the SETNX may have taken effect: then the key stays.
    if ((await redis.setnx(key, 'locked')) !== 1) return null;
    await checkpoint('before-expire');
    await redis.pexpire(key, leaseMs);
    return timedLease(resource, leaseMs - (performance.now() - askedAt), release);
  }

  return pollingLock(options, attempt);
}
