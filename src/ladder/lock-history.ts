/**
 * Checkpoints and history around a lock. In production, where neither is installed, the lock
 * itself.
 */

import type { Lease, Lock } from '../locks/lock.ts';
import { once, withRelease } from '../locks/shared/leases.ts';
import { checkpoint, currentOrder } from '../trace/checkpoints.ts';
import { keepsHistory, type LockEvent, record } from '../trace/history.ts';

/** Records what happened to the lock, with the fence that the lease has. */
type Tell = (event: LockEvent, lease?: Pick<Lease, 'fence'>) => void;

export function traced(lock: Lock): Lock {
  if (!keepsHistory()) return lock;
  return {
    ...lock,
    acquire: async (resource, options) => {
      const order = currentOrder();
      const tell: Tell = (event, { fence } = {}) =>
        order && record(event, order, { resource, ...(fence && { fence }) });
      tell('requested');
      const lease = await lock.acquire(resource, options);
      tell(lease ? 'granted' : 'denied', lease ?? {});
      if (!lease) return null;
      await checkpoint('after-acquire');
      return tracedLease(lease, tell);
    },
  };
}

function tracedLease(lease: Lease, tell: Tell): Lease {
  const expired = () => tell('expired');
  lease.signal.addEventListener('abort', expired, { once: true });
  const release = once(async () => {
    await checkpoint('before-release');
    lease.signal.removeEventListener('abort', expired);
    tell('releasing');
    await lease.release();
    tell('released');
  });
  return withRelease(lease, release);
}
