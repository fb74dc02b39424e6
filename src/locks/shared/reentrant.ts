/**
 * Makes a lock re-entrant, as Curator's InterProcessMutex does: the process counts how often each
 * owner has acquired it, and the lock service sees the first acquire and the last release only.
 */
import type { AcquireOptions, Lease, Lock } from '../lock.ts';
import { once, withRelease } from './leases.ts';
import { currentOwner } from './owner.ts';
import { timeLeft } from './polling.ts';
import { Turns } from './turns.ts';

interface Held {
  readonly lease: Lease;
  count: number;
}

export function reentrant(lock: Lock): Lock {
  const held = new Map<string, Held>();
  const turns = new Turns(); // Two waits of one owner must not become two places in the queue.

  function share(id: string, entry: Held): Lease {
    entry.count += 1;
    const release = once(async () => {
      entry.count -= 1;
      if (entry.count > 0) return;
      if (held.get(id) === entry) held.delete(id);
      await entry.lease.release();
    });
    return withRelease(entry.lease, release);
  }

  function acquire(resource: string, { waitMs, ...others }: AcquireOptions): Promise<Lease | null> {
    const id = `${currentOwner()} ${resource}`;
    const leftMs = timeLeft(waitMs);
    return turns.inTurn(id, async () => {
      const own = held.get(id);
      if (own && !own.lease.signal.aborted) return share(id, own);
      const lease = await lock.acquire(resource, { waitMs: leftMs(), ...others });
      if (!lease) return null;
      const entry = { lease, count: 0 };
      held.set(id, entry);
      return share(id, entry);
    });
  }

  return { reentrant: true, acquire };
}
