/** The three ways in which a lease ends: by the clock, with a session, or not at all. */
import { setMaxListeners } from 'node:events';
import { LeaseLost } from '../../errors.ts';
import type { Lease } from '../lock.ts';

/**
 * A lease that expires by the clock: its signal aborts `validMs` from now, or when `lost` does,
 * unless it is released.
 */
export function timedLease(
  resource: string,
  validMs: number,
  giveBack: () => Promise<void>,
  lost = new AbortController(),
): Lease {
  const deadline = performance.now() + validMs;
  const lostError = () => new LeaseLost(resource, Math.round(validMs));
  const expire = () => lost.abort(lostError());
  const timer = setTimeout(expire, Math.ceil(validMs)).unref();
  const release = once(async () => {
    clearTimeout(timer);
    await giveBack();
  });
  const parts = {
    signal: lost.signal,
    // A timer may fire a fraction of a millisecond early: a lease that is lost has nothing left.
    remainingMs: () => (lost.signal.aborted ? 0 : Math.max(0, deadline - performance.now())),
    release,
  };
  return leaseOf(parts, lostError);
}

/** A session keeps several leases alive. `onEnd` returns a function that removes the listener. */
interface Session {
  remainingMs(): number;
  onEnd(listener: () => void): () => void;
}

/** A lease that lasts until its session ends or it is released. */
export function sessionLease(
  resource: string,
  session: Session,
  advice: string,
  giveBack: () => Promise<void>,
  fence: string,
): Lease {
  const grantedAt = performance.now();
  const lost = new AbortController();
  const lostError = () =>
    new LeaseLost(resource, Math.round(performance.now() - grantedAt), advice);
  const removeListener = session.onEnd(() => lost.abort(lostError()));
  const release = once(async () => {
    removeListener();
    await giveBack();
  });
  const parts = {
    signal: lost.signal,
    remainingMs: () => session.remainingMs(),
    fence,
    release,
  };
  return leaseOf(parts, lostError);
}

const neverAborted = new AbortController().signal;
setMaxListeners(0, neverAborted);

/** A lease that lasts until it is released. */
export function endlessLease(giveBack: () => Promise<void>): Lease {
  const parts = {
    signal: neverAborted,
    remainingMs: () => Number.POSITIVE_INFINITY,
    release: once(giveBack),
  };
  return leaseOf(parts, () => new LeaseLost('a lease without an end', 0));
}

/** The parts of a lease that the others follow from. */
export type LeaseParts = Omit<Lease, keyof AsyncDisposable | 'assertHeld'>;

/** `lostError` is thrown when the time is over and the signal has not aborted yet. */
export function leaseOf(parts: LeaseParts, lostError: () => LeaseLost): Lease {
  const assertHeld = () => {
    parts.signal.throwIfAborted();
    if (parts.remainingMs() <= 0) throw lostError();
  };
  return { ...parts, assertHeld, [Symbol.asyncDispose]: () => parts.release() };
}

/** The same lease with another release. */
export const withRelease = (lease: Lease, release: () => Promise<void>): Lease => ({
  ...lease,
  release,
  [Symbol.asyncDispose]: release,
});

/** Runs the work at the first call; every later call waits for the same result. */
export function once(work: () => Promise<void>): () => Promise<void> {
  let result: Promise<void> | undefined;
  return () => {
    result ??= work();
    return result;
  };
}
