/**
 * Idea. SET NX in a Redis that all instances share: one key, one owner. The release deletes it.
 * Holds while. Every owner lives until its release, and every release arrives.
 * Breaks when. The owner dies, or its release is lost: the key stays for ever, and nobody can buy.
 * Source. The SETNX and DEL that the course notes start from, before they add an expiry.
 */
import type { Redis } from 'ioredis';
import type { Lease, Lock, RedisLockOptions } from './lock.ts';
import { endlessLease } from './shared/leases.ts';
import { type KeyAttempt, pollingLock } from './shared/server-lock.ts';

export function redisNoExpiryLock(redis: Redis, options: RedisLockOptions = {}): Lock {
  async function attempt({ key }: KeyAttempt): Promise<Lease | null> {
    const release = async () => {
      await redis.del(key);
    };
    // If the answer is lost, the SET may have taken effect: then the key stays.
    if ((await redis.set(key, 'locked', 'NX')) !== 'OK') return null;
    return endlessLease(release);
  }

  return pollingLock(options, attempt);
}
