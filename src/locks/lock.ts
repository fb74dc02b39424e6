/** The contract of every lock. The lock is the service; a lease is what you hold. */
import { setMaxListeners } from 'node:events';
import type { Connections } from '../connections/connections.ts';
import { LeaseLost } from '../errors.ts';

export interface AcquireOptions {
  /** How long to wait for the lock, in milliseconds; 0 tries once. */
  readonly waitMs: number;
  /** How long the lease lasts, in milliseconds; the lock's own default without it. */
  readonly leaseMs?: number;
  /** Stops the wait; what was queued or taken for it is given back. */
  readonly signal?: AbortSignal;
}

/** Also for `await using lease = …`, which releases it at the end of the block. */
export interface Lease extends AsyncDisposable {
  /** Aborts, with LeaseLost as its reason, once the lease may no longer be held. */
  readonly signal: AbortSignal;
  /** How long the lease is still good for, by this process's steady clock. Infinity where a lease never ends. */
  remainingMs(): number;
  /** Grows with every lease of the resource; present where the lock service can number its leases. */
  readonly fence?: string;
  /** Gives the lock back. Once is enough, twice does nothing; must not touch a lock that somebody else holds by now. */
  release(): Promise<void>;
}

export interface Lock {
  /** Its holder may take it again; who the holder is, is its async context (owner.ts). */
  readonly reentrant?: true;
  /**
   * @returns a lease, or null when the lock could not be had in time (ordinary).
   * @throws LockServiceUnavailable when the lock service failed; the abort reason when `signal` aborted.
   */
  acquire(resource: string, options: AcquireOptions): Promise<Lease | null>;
}

/** What every file in this folder exports. */
export interface LockModule {
  open(connections: Connections): Lock;
}

export interface UsingOptions extends AcquireOptions {
  /** Hears of a release that failed: what the work came to stands, and the lease ends by itself. */
  readonly onReleaseFailed?: (error: unknown) => void;
}

/** Holds the lock while `work` runs, and always gives it back. @returns null when the lock was not to be had in time. */
export async function using<T>(
  lock: Lock,
  resource: string,
  { onReleaseFailed = () => {}, ...options }: UsingOptions,
  work: (lease: Lease) => Promise<T>,
): Promise<T | null> {
  const lease = await lock.acquire(resource, options);
  if (!lease) return null;
  try {
    return await work(lease);
  } finally {
    await lease.release().catch(onReleaseFailed);
  }
}

/** A lease that ends by the clock: its signal aborts `validMs` from now, or when `lost` does, unless it is released before. */
export function timedLease(
  resource: string,
  validMs: number,
  giveBack: () => Promise<void>,
  lost = new AbortController(),
): Lease {
  const deadline = performance.now() + validMs;
  const timer = setTimeout(() => lost.abort(new LeaseLost(resource, validMs)), Math.ceil(validMs)).unref();
  const release = once(async () => {
    clearTimeout(timer);
    await giveBack();
  });
  return disposable({
    signal: lost.signal,
    // A timer may fire a fraction of a millisecond early: what was said to be lost has nothing left.
    remainingMs: () => (lost.signal.aborted ? 0 : Math.max(0, deadline - performance.now())),
    release,
  });
}

/** What keeps leases alive together; `onEnd` answers how to forget about the call. */
interface Session {
  remainingMs(): number;
  onEnd(tell: () => void): () => void;
}

/** A lease that lasts until its session ends or it is released. */
export function sessionLease(
  resource: string,
  session: Session,
  advice: string,
  giveBack: () => Promise<void>,
  fence: string,
): Lease {
  const since = performance.now();
  const lost = new AbortController();
  const forget = session.onEnd(() => {
    lost.abort(new LeaseLost(resource, Math.round(performance.now() - since), advice));
  });
  const release = once(async () => {
    forget();
    await giveBack();
  });
  return disposable({ signal: lost.signal, remainingMs: () => session.remainingMs(), fence, release });
}

const neverAborted = new AbortController().signal;
setMaxListeners(0, neverAborted);

/** A lease that lasts until it is released. */
export function endlessLease(giveBack: () => Promise<void>): Lease {
  return disposable({
    signal: neverAborted,
    remainingMs: () => Number.POSITIVE_INFINITY,
    release: once(giveBack),
  });
}

export const disposable = <Kind extends Omit<Lease, keyof AsyncDisposable>>(
  lease: Kind,
): Kind & AsyncDisposable => ({
  ...lease,
  [Symbol.asyncDispose]: () => lease.release(),
});

/** The work is done the first time; every later call waits for the same. */
export function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}
