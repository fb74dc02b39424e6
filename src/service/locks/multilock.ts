/**
 * Idea. The reentrant lock on every one of several independent Redis masters, one after the other.
 *   While a single one of them remembers the owner, nobody else can have them all.
 * Holds while. One master keeps its data, the process lives, and its event loop turns within the
 *   lease.
 * Breaks when. The process is paused past the lease. A lock that a living process never releases is
 *   renewed for ever. While any master is down, the lock is not available, and says which.
 * Source. Redisson's RedissonMultiLock, commit 66863978 (August 2026), and five repairs: masters in
 *   one order, an owner check when the lease is set, a release on every master that was asked and
 *   past a dead one, and an error at once where Redisson asks again.
 */

import type { Redis } from 'ioredis';
import { LockMastersMissing } from '../errors.ts';
import { type AcquireOptions, defaultAnswerMs, type Lease, type Lock } from './lock.ts';
import { checkMasters, checkOptions } from './shared/checked-options.ts';
import { boundedWait, timeLeft } from './shared/deadlines.ts';
import { once } from './shared/leases.ts';
import { reentrant } from './shared/owner.ts';
import { serverLock } from './shared/server-lock.ts';

/** An independent master, and the reentrant lock on it. */
export interface Master {
  readonly redis: Redis;
  readonly lock: Lock;
}

/** What `multiLock` takes beside its masters. */
export interface MultiLockOptions {
  /** How long the answers of all masters may take after the wait, in milliseconds; 500. */
  readonly answerMs?: number;
}

/** Held only when every master says so. @throws OptionInvalid, also without a master */
export function multiLock(masters: readonly Master[], options: MultiLockOptions = {}): Lock {
  checkMasters(masters);
  const all = new AllMasters(masters, checkOptions(options).answerMs ?? defaultAnswerMs);
  return reentrant({ acquire: (resource, wanted) => all.acquire(resource, wanted) });
}

class AllMasters {
  readonly #masters: readonly Master[];
  readonly #answerMs: number;

  constructor(masters: readonly Master[], answerMs: number) {
    // One order in every process: else two owners could wait for each other.
    this.#masters = masters.toSorted((one, other) => (addressOf(one) < addressOf(other) ? -1 : 1));
    this.#answerMs = answerMs;
  }

  async acquire(resource: string, options: AcquireOptions): Promise<Lease | null> {
    const leases: Lease[] = [];
    let isComplete = false;
    try {
      isComplete = await this.#collect(resource, options, leases);
      if (isComplete && options.leaseMs) await this.#renewAll(resource, leases, options.leaseMs);
      return isComplete ? this.#asOne(resource, leases) : null;
    } catch (error) {
      isComplete = false;
      options.signal?.throwIfAborted();
      throw error;
    } finally {
      if (!isComplete) for (const lease of leases) lease.release().catch(() => {});
    }
  }

  /** @returns false when another owner has the lock on one of the masters. */
  async #collect(
    resource: string,
    { leaseMs, signal, ...wanted }: AcquireOptions,
    leases: Lease[],
  ): Promise<boolean> {
    const waitMs = boundedWait(wanted.waitMs);
    const leftMs = timeLeft(waitMs);
    const answerLeftMs = timeLeft(waitMs + this.#answerMs);
    // The first lease must outlast the wait for the last one.
    const collectingMs = leaseMs && Math.max(2 * Math.ceil(waitMs), leaseMs);
    const others = { ...(collectingMs && { leaseMs: collectingMs }), ...(signal && { signal }) };
    for (const master of this.#masters) {
      const lock = serverLock(master.lock, answerLeftMs() - leftMs());
      const asking = lock.acquire(resource, { waitMs: leftMs(), ...others });
      const lease = await asking.catch((cause: unknown) => {
        // Its lock releases by itself what it may have been granted.
        throw this.#without(resource, cause, (each) => each === master || !isConnected(each));
      });
      if (!lease) return false;
      leases.push(lease);
    }
    return true;
  }

  #renewAll(resource: string, leases: readonly Lease[], leaseMs: number): Promise<void> {
    return this.#onAll(resource, leases, async (lease) => lease.renew?.(leaseMs));
  }

  #asOne(resource: string, leases: readonly Lease[]): Lease {
    const release = once(() => this.#onAll(resource, leases, (lease) => lease.release()));
    return asOne(leases, release);
  }

  /** On every master at once, also past a dead one. @throws LockMastersMissing */
  async #onAll(
    resource: string,
    leases: readonly Lease[],
    work: (lease: Lease) => Promise<void>,
  ): Promise<void> {
    const results = await Promise.allSettled(leases.map(work));
    const failed = results.find((result) => result.status === 'rejected');
    if (!failed) return;
    const hasFailed = (_: Master, place: number) => results[place]?.status === 'rejected';
    throw this.#without(resource, failed.reason, hasFailed);
  }

  #without(
    resource: string,
    cause: unknown,
    isMissing: (master: Master, place: number) => boolean,
  ): LockMastersMissing {
    const missing = this.#masters.filter(isMissing).map(addressOf);
    return new LockMastersMissing(resource, missing, this.#masters.length, cause);
  }
}

const addressOf = ({ redis: { options } }: Master): string => `${options.host}:${options.port}`;
const isConnected = ({ redis }: Master): boolean => redis.status === 'ready';

/** It lasts as long as the last of its parts: until then nobody else can have them all. */
function asOne(parts: readonly Lease[], release: () => Promise<void>): Lease {
  const lost = new AbortController();
  const last = () =>
    parts.reduce((one, other) => (one.remainingMs() > other.remainingMs() ? one : other));
  const checkParts = () => {
    if (parts.every(({ signal }) => signal.aborted)) lost.abort(last().signal.reason);
  };
  for (const { signal } of parts) signal.addEventListener('abort', checkParts);
  checkParts();
  return {
    signal: lost.signal,
    remainingMs: () => last().remainingMs(),
    assertHeld: () => last().assertHeld(),
    release,
    [Symbol.asyncDispose]: release,
  };
}
