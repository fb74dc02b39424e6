/**
 * Idea. Another lock, and its Redis numbers the leases (INCR). The sale gives the number (the
 *   fence) to MySQL, which refuses the write of every lease but the newest that it has heard of.
 * Holds while. Redis keeps its data, also when its replica is promoted: then no number comes twice.
 *   It keeps a count for each resource, for good.
 * Breaks when. Redis forgets the number together with the lock. The next lease has the same number,
 *   and MySQL takes both writes. The lock below must not be reentrant.
 * Source. Redisson, RFencedLock: the token is counted in Redis, beside the lock.
 */
import type { Redis } from 'ioredis';
import { nextFenceOfRedis } from '../connections/fences.ts';
import type { Pool } from '../connections/mysql.ts';
import type { Lock } from './lock.ts';
import { type FencedOptions, withFence } from './shared/with-fence.ts';

export const fencedByRedisLock = (
  lock: Lock,
  redis: Redis,
  pool: Pool,
  options: FencedOptions = {},
): Lock => withFence(lock, (resource) => nextFenceOfRedis(redis, pool, resource), options);
