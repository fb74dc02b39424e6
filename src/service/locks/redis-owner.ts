/**
 * Idea. SET NX PX with a random owner; the release reads the owner, compares, then deletes.
 * Holds while. Nothing happens between the comparison and the delete, and the sale is shorter than
 *   the lease.
 * Breaks when. The lease expires in that gap: the delete hits the key of the next owner, and a
 *   third request enters. Or the sale outlasts its lease.
 * Source. The course notes' second SimpleRedisLock (owner = UUID + thread id, compared before DEL).
 */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { checkpoint } from '../trace/checkpoints.ts';
import type { Lease, Lock, RedisLockOptions } from './lock.ts';
import { type KeyAttempt, KeyLeases, pollingLock } from './shared/server-lock.ts';

export function redisOwnerLock(redis: Redis, options: RedisLockOptions = {}): Lock {
  const leases = new KeyLeases(redis, options);

  async function attempt({ resource, key, leaseMs }: KeyAttempt): Promise<Lease | null> {
    const owner = randomUUID();
    const release = async () => {
      if ((await redis.get(key)) !== owner) return;
      await checkpoint('owner-checked');
      await redis.del(key);
    };
    const ask = () => redis.set(key, owner, 'PX', leaseMs, 'NX');
    return leases.lease({ resource, leaseMs, ask, release });
  }

  return pollingLock(options, attempt);
}
