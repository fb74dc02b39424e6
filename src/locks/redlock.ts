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
import Redlock, { type RedlockCallback, type RedlockClient, type RedlockLock } from 'redlock';
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
  const { keyPrefix = defaultKeyPrefix, leaseMs: defaultMs = defaultLeaseMs, answerMs } = options;

  async function attempt(resource: string, leaseMs: number): Promise<Lease | null> {
    const round = new Round(masters, resource);
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

function asLease(resource: string, leaseMs: number, lock: RedlockLock, round: Round): Lease {
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

/** One question to all masters, and the errors of those that did not answer it. */
class Round {
  /** Rejects when all are heard of and too few have answered. */
  readonly tooFew: Promise<never>;
  readonly #masters: readonly Redis[];
  readonly #resource: string;
  /** By the master's place in the list. */
  readonly #errors = new Map<number, Error>();
  #fail: (error: unknown) => void = () => {};
  #heard = 0;

  constructor(masters: readonly Redis[], resource: string) {
    this.#masters = masters;
    this.#resource = resource;
    this.tooFew = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.tooFew.catch(() => {}); // After the attempt it concerns nobody.
  }

  restart(): void {
    this.#errors.clear();
  }

  /** @throws LockServiceUnavailable */
  assertMajority(): void {
    const majority = Math.floor(this.#masters.length / 2) + 1;
    const answered = this.#masters.length - this.#errors.size;
    const [cause] = this.#errors.values();
    if (answered < majority)
      throw new LockServiceUnavailable(this.#resource, answered, majority, cause);
  }

  clients(): RedlockClient[] {
    return this.#masters.map((master, place) => {
      const hear = (done: RedlockCallback): RedlockCallback => {
        return (error, result) => {
          if (!error?.message.startsWith('NOSCRIPT')) this.#hear(place, error);
          done(error, result);
        };
      };
      return {
        evalsha: (digest, args, done) => master.call('EVALSHA', [digest, ...args], hear(done)),
        eval: (args, done) => master.call('EVAL', args, hear(done)),
      };
    });
  }

  #hear(place: number, error?: Error | null): void {
    if (error) this.#errors.set(place, error);
    this.#heard += 1;
    if (this.#heard !== this.#masters.length) return;
    try {
      this.assertMajority();
    } catch (tooFew) {
      this.#fail(tooFew);
    }
  }
}
