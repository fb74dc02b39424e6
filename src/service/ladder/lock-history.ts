/**
 * Checkpoints and history around a lock. In production, where neither is installed, the lock
 * itself.
 */

import type { Order } from '../domain.ts';
import { LeaseLost } from '../errors.ts';
import type { Lease, Lock } from '../locks/lock.ts';
import { once, withRelease } from '../locks/shared/leases.ts';
import { checkpoint, currentOrder } from '../trace/checkpoints.ts';
import { keepsHistory, type LockEvent, record } from '../trace/history.ts';

/** Records what happened to the lock, with the fence that the lease has. */
type Tell = (event: LockEvent, lease?: Pick<Lease, 'fence'>) => void;

export function withHistory(lock: Lock): Lock {
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
      const held = endable(lease, resource, order);
      await checkpoint('after-acquire');
      return leaseWithHistory(held, tell);
    },
  };
}

/** By the request of its purchase: what ends its lease. */
const endings = new Map<string, () => void>();

/** As if its time had passed. @returns false when that purchase has no lease */
export function endLease(requestId: string): boolean {
  const end = endings.get(requestId);
  end?.();
  return end !== undefined;
}

/** A lease that also ends when somebody chooses it. Of a nested purchase, the inner one. */
function endable(lease: Lease, resource: string, order: Order | undefined): Lease {
  if (!order) return lease;
  const ended = new AbortController();
  const grantedAt = performance.now();
  const lost = () => new LeaseLost(resource, Math.round(performance.now() - grantedAt));
  const forward = () => ended.abort(lease.signal.reason);
  if (lease.signal.aborted) forward();
  else lease.signal.addEventListener('abort', forward, { once: true });
  const { requestId } = order;
  const end = () => ended.abort(lost());
  endings.set(requestId, end);
  const release = once(async () => {
    lease.signal.removeEventListener('abort', forward);
    try {
      await lease.release();
    } finally {
      if (endings.get(requestId) === end) endings.delete(requestId); // It may end in its release.
    }
  });
  return {
    ...withRelease(lease, release),
    signal: ended.signal,
    remainingMs: () => (ended.signal.aborted ? 0 : lease.remainingMs()),
    assertHeld: () => {
      lease.assertHeld();
      if (ended.signal.aborted) throw lost();
    },
  };
}

function leaseWithHistory(lease: Lease, tell: Tell): Lease {
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
