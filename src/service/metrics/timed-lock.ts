/** A lock whose waits are measured, also those that end without a lease. */
import type { Lock } from '../locks/lock.ts';
import { observeLockWait } from './purchases.ts';

export const timed = (rung: string, lock: Lock): Lock => ({
  ...lock,
  acquire: async (resource, options) => {
    const askedAt = performance.now();
    const lease = await lock.acquire(resource, options);
    observeLockWait(rung, lease !== null, performance.now() - askedAt);
    return lease;
  },
});
