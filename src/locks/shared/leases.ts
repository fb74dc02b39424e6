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
  const expire = () => lost.abort(new LeaseLost(resource, Math.round(validMs)));
  const timer = setTimeout(expire, Math.ceil(validMs)).unref();
  const release = once(async () => {
    clearTimeout(timer);
    await giveBack();
  });
  return disposable({
    signal: lost.signal,
    // A timer may fire a fraction of a millisecond early: a lease that is lost has nothing left.
    remainingMs: () => (lost.signal.aborted ? 0 : Math.max(0, deadline - performance.now())),
    release,
  });
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
  const removeListener = session.onEnd(() => {
    lost.abort(new LeaseLost(resource, Math.round(performance.now() - grantedAt), advice));
  });
  const release = once(async () => {
    removeListener();
    await giveBack();
  });
  return disposable({
    signal: lost.signal,
    remainingMs: () => session.remainingMs(),
    fence,
    release,
  });
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

/** Runs the work at the first call; every later call waits for the same result. */
export function once(work: () => Promise<void>): () => Promise<void> {
  let result: Promise<void> | undefined;
  return () => {
    result ??= work();
    return result;
  };
}
