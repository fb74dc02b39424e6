/**
 * Idea. Ask several independent Redis masters for the same lock; a majority within the lease's time
 *   is the lock.
 * Holds while. A majority of the masters is up and remembers, clocks run at about the same pace,
 *   the sale fits the lease.
 * Breaks when. The process is paused past its lease; or, with no more masters than a majority, one
 *   of them restarts empty before the lease is over, or is replaced by a replica without the lock.
 * Source. Redis, "Distributed locks with Redis" (Redlock); the package redlock 4.2.
 */

import type { Redis } from 'ioredis';
import Redlock, { type RedlockLock } from 'redlock';
import { LockGrantedTooLate } from '../errors.ts';
import { defaultAnswerMs, type Lease, type Lock, type RedisLockOptions } from './lock.ts';
import { checkMasters } from './shared/checked-options.ts';
import { renewableLease } from './shared/leases.ts';
import { RedlockRound } from './shared/redlock-round.ts';
import { earlierConnections, type KeyAttempt, pollingLock } from './shared/server-lock.ts';

const retryMs = 50;
/** In a second, two clocks may differ by this many seconds more. */
const driftFactor = 0.01;
/** Redis counts in milliseconds: one for its expiry, one for ours. */
const expiryPrecisionMs = 2;

interface Grant {
  readonly lock: RedlockLock;
  readonly validMs: number;
}

/** Held when most masters say so. @throws OptionInvalid, also without a master */
export function redlockLock(masters: readonly Redis[], options: RedisLockOptions = {}): Lock {
  checkMasters(masters);
  const { answerMs = defaultAnswerMs } = options;
  // One answer time is enough for a question and the release after it.
  const limitMs = answerMs / 2;
  for (const master of masters) earlierConnections(master); // Before anything is asked there.

  async function attempt({ resource, key, leaseMs }: KeyAttempt): Promise<Lease | null> {
    const round = new RedlockRound(masters, resource, limitMs);
    // It asks once; polling does the waiting.
    const unlockScript = (script: string) => round.unlocksBy(script);
    const redlock = new Redlock(round.clients(), { driftFactor, retryCount: 0, unlockScript });
    const ask = () => redlock.lock(key, leaseMs);
    const grant = await granted(resource, leaseMs, round, ask);
    return grant && asLease(resource, grant, round);
  }

  return pollingLock(options, attempt, retryMs);
}

/**
 * Asks for a lock or its renewal. It is valid from the moment of the question, less the drift.
 * @throws LockGrantedTooLate, after its release
 */
async function granted(
  resource: string,
  leaseMs: number,
  round: RedlockRound,
  ask: () => Promise<RedlockLock>,
): Promise<Grant | null> {
  const askedAt = performance.now();
  const { answer: lock, isGranted } = await round.ask(ask);
  const elapsedMs = performance.now() - askedAt;
  const driftMs = driftFactor * leaseMs + expiryPrecisionMs;
  const validMs = leaseMs - elapsedMs - driftMs;
  if (lock && validMs > 0) return { lock, validMs };
  if (!isGranted) return null;
  // The package has released it, if its clock says the same.
  if (lock) await round.ask(() => lock.unlock());
  throw new LockGrantedTooLate(resource, leaseMs, elapsedMs, driftMs);
}

function asLease(resource: string, { lock, validMs }: Grant, round: RedlockRound): Lease {
  async function renew(leaseMs: number): Promise<number | null> {
    const renewed = await granted(resource, leaseMs, round, () => lock.extend(leaseMs));
    return renewed?.validMs ?? null;
  }
  // When no majority had it any more, the lease had expired: that is no failure.
  const giveBack = async () => void (await round.ask(() => lock.unlock()));
  return renewableLease(resource, validMs, renew, giveBack);
}
