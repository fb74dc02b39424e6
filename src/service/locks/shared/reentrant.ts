/**
 * Makes a lock re-entrant, as Curator's InterProcessMutex does: the process counts how often each
 * owner has acquired it, and the lock service sees the first acquire and the last release only.
 */
import type { AcquireOptions, Lease, Lock } from '../lock.ts';
import { once, withRelease } from './leases.ts';
import { oneWaitPerOwner } from './one-wait-per-owner.ts';
import { currentOwner } from './owner.ts';

interface HeldLease {
  readonly lease: Lease;
  count: number;
}

export function reentrant(lock: Lock): Lock {
  const held = new Map<string, HeldLease>();

  function share(id: string, entry: HeldLease): Lease {
    entry.count += 1;
    const release = once(async () => {
      entry.count -= 1;
      if (entry.count > 0) return;
      if (held.get(id) === entry) held.delete(id);
      await entry.lease.release();
    });
    return withRelease(entry.lease, release);
  }

  async function acquire(resource: string, options: AcquireOptions): Promise<Lease | null> {
    const id = `${currentOwner()} ${resource}`;
    const own = held.get(id);
    // After a stall of the event loop the signal may not have aborted yet.
    if (own && !own.lease.signal.aborted && own.lease.remainingMs() > 0) return share(id, own);
    const lease = await lock.acquire(resource, options);
    if (!lease) return null;
    const entry = { lease, count: 0 };
    held.set(id, entry);
    return share(id, entry);
  }

  return oneWaitPerOwner({ acquire });
}
