/**
 * Queues the waits of one owner in the process. Beside each other, one could sleep while the other
 * has the lock, and in a queue of the lock service they would take two places, or lose the one they
 * share.
 */
import type { AcquireOptions, Lease, Lock } from '../lock.ts';
import { checkRequest } from './checked-options.ts';
import { timeLeft } from './deadlines.ts';
import { asOneOwner, currentOwner } from './owner.ts';
import { Turns } from './turns.ts';

/**
 * Called when the last wait of an owner ended without a lease. `isWaiting` tells whether the owner
 * waits again by now.
 */
export type GaveUp = (resource: string, isWaiting: () => boolean) => void;

export function oneWaitPerOwner(lock: Lock, gaveUp: GaveUp = () => {}): Lock {
  const waits = new Turns();

  async function acquire(resource: string, options: AcquireOptions): Promise<Lease | null> {
    checkRequest(resource, options);
    const { waitMs } = options;
    const name = `${currentOwner()} ${resource}`;
    const isWaiting = () => waits.isTaken(name);
    if (waitMs === 0 && isWaiting()) return null;
    const leftMs = timeLeft(waitMs);
    let lease: Lease | null = null;
    try {
      lease = await waits.inTurnWithin(options, name, () =>
        lock.acquire(resource, { ...options, waitMs: leftMs() }),
      );
      return lease;
    } finally {
      if (!lease && waitMs > 0 && !isWaiting()) gaveUp(resource, isWaiting);
    }
  }

  return {
    reentrant: true,
    acquire: (resource, options) => asOneOwner(() => acquire(resource, options)),
  };
}
