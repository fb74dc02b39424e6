/**
 * Idea. Another lock, and MySQL numbers its leases. The sale gives the number (the fence) back to
 *   MySQL, which refuses the write of every lease but the newest.
 * Holds while. MySQL keeps its data. The lock service may forget everything.
 * Breaks when. The lock below has two owners at once: both sell, and MySQL lets only the newer one
 *   write. An owner that acquires again would close its own fence: the lock below must not be
 *   reentrant.
 * Source. Kleppmann, "How to do distributed locking": the fencing token.
 */
import { nextFence } from '../connections/fences.ts';
import type { Pool } from '../connections/mysql.ts';
import type { AcquireOptions, Lease, Lock } from './lock.ts';
import { keepUnlessAborted } from './shared/deadlines.ts';
import { serverLock } from './shared/server-lock.ts';

export interface FencedOptions {
  /** How long one answer of MySQL may take, in milliseconds; 500 without it. */
  readonly answerMs?: number;
}

export function fencedLock(lock: Lock, pool: Pool, { answerMs }: FencedOptions = {}): Lock {
  async function acquire(resource: string, options: AcquireOptions): Promise<Lease | null> {
    const lease = await lock.acquire(resource, options);
    if (!lease) return null;
    try {
      const fence = await nextFence(pool, resource);
      return await keepUnlessAborted({ ...lease, fence }, options.signal);
    } catch (error) {
      await lease.release().catch(() => {}); // The lease expires by itself.
      throw error;
    }
  }

  return serverLock({ acquire }, answerMs);
}
