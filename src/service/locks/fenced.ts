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
import type { Lock } from './lock.ts';
import { type FencedOptions, withFence } from './shared/with-fence.ts';

export const fencedLock = (lock: Lock, pool: Pool, options: FencedOptions = {}): Lock =>
  withFence(lock, (resource) => nextFence(pool, resource), options);
