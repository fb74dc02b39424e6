/**
 * Idea. Ask several independent Redis masters for the same lock; a majority within the lease's time
 *   is the lock.
 * Holds while. A majority of the masters is up and remembers, clocks run at about the same pace,
 *   the sale fits the lease.
 * Breaks when. The process is paused past its lease, or a master restarts empty before the lease is
 *   over.
 * Source. Redis, "Distributed locks with Redis" (Redlock); the package redlock 4.2.
 */
import type { Redis } from 'ioredis';
import Redlock, { type RedlockLock } from 'redlock';
import { LockServiceUnavailable } from '../errors.ts';
import {
  defaultKeyPrefix,
  defaultLeaseMs,
  type Lease,
  type Lock,
  type RedisLockOptions,
} from './lock.ts';
import { timedLease } from './shared/leases.ts';
import { pollingLock } from './shared/polling.ts';

const retryMs = 50;

export function redlockLock(masters: readonly Redis[], options: RedisLockOptions = {}): Lock {
  const { keyPrefix = defaultKeyPrefix, leaseMs: defaultMs = defaultLeaseMs } = options;
  const majority = Math.floor(masters.length / 2) + 1;

  async function attempt(resource: string, leaseMs: number): Promise<Lease | null> {
    const unreachable: unknown[] = [];
    // One Redlock for each attempt, so that it reports the errors of this attempt only; polling
    // does the waiting.
    const redlock = new Redlock(masters, { retryCount: 0 });
    redlock.on('clientError', (error) => unreachable.push(error));
    try {
      return asLease(resource, leaseMs, await redlock.lock(keyPrefix + resource, leaseMs));
    } catch (error) {
      if (!(error instanceof Redlock.LockError)) throw error;
      // A master that is down fails twice: for the lock, and for the unlock after the attempt
      // failed.
      const answered = masters.length - Math.ceil(unreachable.length / 2);
      if (answered < majority)
        throw new LockServiceUnavailable(resource, answered, majority, unreachable[0]);
      return null;
    }
  }

  return pollingLock(attempt, { leaseMs: defaultMs, retryMs });
}

function asLease(resource: string, leaseMs: number, lock: RedlockLock): Lease {
  const validMs = Math.min(leaseMs, lock.expiration - Date.now());
  return timedLease(resource, validMs, async () => {
    await lock.unlock().catch((error: unknown) => {
      // An expired lease has nothing left to release.
      if (!(error instanceof Redlock.LockError)) throw error;
    });
  });
}
