/** The contract of every lock. The lock is the service; a lease is what its owner holds. */

/** How long a caller waits for the lock, and how long the lease lasts. */
export interface AcquireOptions {
  /**
   * How long to wait for the lock, in milliseconds; 0 tries once. A lock with a server answers at
   * most one answer time (`answerMs`) later.
   */
  readonly waitMs: number;
  /**
   * How long the lease lasts, in milliseconds; the lock's own default without it. An owner that
   * acquires its lock again shares the lease that it has.
   */
  readonly leaseMs?: number;
  /**
   * Stops the wait. A place in a queue is given up, and a lease that was just granted is released.
   */
  readonly signal?: AbortSignal;
}

/** What an owner holds until its release, or the end of the block with `await using lease = …`. */
export interface Lease extends AsyncDisposable {
  /** Aborts, with LeaseLost as its reason, once another owner may have the lock. */
  readonly signal: AbortSignal;
  /**
   * How long the lease is still valid, in milliseconds of this process's monotonic clock. Infinity
   * without an end.
   */
  remainingMs(): number;
  /**
   * @throws LeaseLost by the clock. The signal needs a timer, which a stalled event loop runs late:
   * so this is the check right before a commit.
   */
  assertHeld(): void;
  /**
   * Grows with every lease of the resource; present where the lock service can number its leases.
   */
  readonly fence?: string;
  /**
   * Renews a lease that was acquired with `leaseMs`, if its owner still holds it: it ends `leaseMs`
   * from now. Present where the lock can do that. All leases of this owner on the resource change.
   */
  readonly renew?: (leaseMs: number) => Promise<void>;
  /** Gives the lock back. A second call does nothing. Never releases the lease of another owner. */
  release(): Promise<void>;
}

/** What every lock is: it gives leases of resources. */
export interface Lock {
  /** The owner may acquire it again. The owner is an async context: see `asOneOwner`. */
  readonly reentrant?: true;
  /**
   * @returns a lease, or null when the lock was not free in time (ordinary).
   * @throws OptionInvalid for a wait or a lease that cannot be one; LockServiceUnavailable when the
   * lock service failed; the abort reason when `signal` aborted.
   */
  acquire(resource: string, options: AcquireOptions): Promise<Lease | null>;
}

/** What every Redis lock takes beside its client. */
export interface RedisLockOptions {
  /** In front of every key; `lock:` without it. */
  readonly keyPrefix?: string;
  /** The lease of an acquire that names none, in milliseconds; 10,000 without it. */
  readonly leaseMs?: number;
  /** How long one answer of Redis may take, in milliseconds; 500 without it. */
  readonly answerMs?: number;
}

export const defaultAnswerMs = 500;
export const defaultKeyPrefix = 'lock:';
export const defaultLeaseMs = 10_000;

/** What `using` takes beside the work. */
export interface UsingOptions extends AcquireOptions {
  /**
   * Called when a release failed. The result of the work stands, and the lease expires by itself.
   */
  readonly onReleaseFailed?: (error: unknown) => void;
}

/**
 * Runs `work` while holding the lock, and always releases it.
 * @returns null when the lock was not free in time.
 */
export async function using<T>(
  lock: Lock,
  resource: string,
  options: UsingOptions,
  work: (lease: Lease) => Promise<T>,
): Promise<T | null> {
  const lease = await lock.acquire(resource, options);
  if (!lease) return null;
  try {
    return await work(lease);
  } finally {
    await lease.release().catch(options.onReleaseFailed ?? (() => {}));
  }
}
