/**
 * Idea. Ask several independent Redis masters for the same lock; a majority within the lease's time is the lock.
 * Holds while. A majority of the masters is up and remembers, clocks run at about the same pace, the sale fits the lease.
 * Breaks when. A holder is paused past its lease, or a master comes back empty before the lease is over.
 * Source. Redis, "Distributed locks with Redis" (Redlock); the package redlock 4.2.
 */
import Redlock, { type RedlockLock } from 'redlock';
import type { Connections } from '../connections/connections.ts';
import { LockServiceUnavailable } from '../errors.ts';
import { type Lease, type Lock, timedLease } from './lock.ts';
import { askAgain } from './waiting.ts';

const retryMs = 50;

export function open(connections: Connections): Lock {
  const masters = connections.redlockMasters();
  const majority = Math.floor(masters.length / 2) + 1;

  async function attempt(resource: string, leaseMs: number): Promise<Lease | null> {
    const unreachable: unknown[] = [];
    // One Redlock for each attempt, so that the errors heard are this attempt's own; askAgain does the waiting.
    const redlock = new Redlock(masters, { retryCount: 0 });
    redlock.on('clientError', (error) => unreachable.push(error));
    try {
      return asLease(resource, leaseMs, await redlock.lock(`lock:${resource}`, leaseMs));
    } catch (error) {
      if (!(error instanceof Redlock.LockError)) throw error;
      // A master that is away errs twice: asked to lock, and asked to unlock after the attempt failed.
      const answered = masters.length - Math.ceil(unreachable.length / 2);
      if (answered < majority) throw new LockServiceUnavailable(resource, answered, majority, unreachable[0]);
      return null;
    }
  }

  return {
    acquire: (resource, options) =>
      askAgain(
        () => attempt(resource, options.leaseMs ?? connections.config.LOCK_LEASE_MS),
        options,
        retryMs,
      ),
  };
}

function asLease(resource: string, leaseMs: number, lock: RedlockLock): Lease {
  const validMs = Math.min(leaseMs, lock.expiration - Date.now());
  return timedLease(resource, validMs, async () => {
    await lock.unlock().catch((error: unknown) => {
      if (!(error instanceof Redlock.LockError)) throw error; // An ended lease has nothing left to release.
    });
  });
}
