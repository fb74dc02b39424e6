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
import {
  defaultKeyPrefix,
  defaultLeaseMs,
  type Lease,
  type Lock,
  type RedisLockOptions,
} from './lock.ts';
import { timedLease } from './shared/leases.ts';
import { pollingLock } from './shared/polling.ts';
import { RedlockRound } from './shared/redlock-round.ts';

const retryMs = 50;

export function redlockLock(masters: readonly Redis[], options: RedisLockOptions = {}): Lock {
  const { keyPrefix = defaultKeyPrefix, leaseMs: defaultMs = defaultLeaseMs, answerMs } = options;

  async function attempt(resource: string, leaseMs: number): Promise<Lease | null> {
    const round = new RedlockRound(masters, resource);
    // One Redlock for each attempt, so that its round has the errors of this attempt only; polling
    // does the waiting.
    const redlock = new Redlock(round.clients(), { retryCount: 0 });
    const locking = redlock.lock(keyPrefix + resource, leaseMs);
    try {
      // The package unlocks before it reports that too few have answered: nobody waits for that.
      const lock = await Promise.race([locking, round.tooFew]);
      return asLease(resource, leaseMs, lock, round);
    } catch (error) {
      if (error instanceof Redlock.LockError) return null;
      throw error;
    }
  }

  return pollingLock(attempt, { leaseMs: defaultMs, retryMs, answerMs });
}

function asLease(resource: string, leaseMs: number, lock: RedlockLock, round: RedlockRound): Lease {
  const validMs = Math.min(leaseMs, lock.expiration - Date.now());
  return timedLease(resource, validMs, async () => {
    round.restart();
    await lock.unlock().catch((error: unknown) => {
      if (!(error instanceof Redlock.LockError)) throw error;
      // When a majority answered that it does not have the lock, the lease had expired.
      round.assertMajority();
    });
  });
}
