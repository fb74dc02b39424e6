/** The three ways in which a lease ends: by the clock, with a session, or not at all. */
import { setMaxListeners } from 'node:events';
import { LeaseLost } from '../../errors.ts';
import type { Lease } from '../lock.ts';
import { Alarm } from './deadlines.ts';

/**
 * A lease that expires by the clock: its signal aborts `validMs` from now, unless it is released.
 */
export const timedLease = (
  resource: string,
  validMs: number,
  giveBack: () => Promise<void>,
): Lease => leaseUntil(new Expiry(resource, validMs), giveBack);

function leaseUntil(expiry: Expiry, giveBack: () => Promise<void>): Lease {
  const release = async () => {
    expiry.stop();
    await giveBack();
  };
  const parts = { signal: expiry.signal, remainingMs: () => expiry.remainingMs(), release };
  return leaseOf(parts, () => expiry.error());
}

/**
 * A lease by the clock that its owner can renew. A renewal that fails loses the lease.
 * @param ask asks the lock service to renew the lease by `leaseMs`. It returns for how long the
 * lease is now valid, in milliseconds; null: the owner has lost it.
 */
export function renewableLease(
  resource: string,
  validMs: number,
  ask: (leaseMs: number) => Promise<number | null>,
  giveBack: () => Promise<void>,
): Lease {
  const expiry = new Expiry(resource, validMs);
  const lease = leaseUntil(expiry, once(giveBack));

  async function renew(leaseMs: number): Promise<void> {
    lease.assertHeld();
    try {
      const renewedMs = await ask(leaseMs);
      lease.assertHeld(); // The answer may have come after the end.
      if (renewedMs === null) throw expiry.error('the lock service does not have it any more');
      expiry.renew(renewedMs);
    } catch (error) {
      const lost = asLost(error);
      expiry.lose(lost);
      lease.release().catch(() => {}); // Its owner's release has the same result.
      throw lost;
    }
  }

  const asLost = (error: unknown): LeaseLost =>
    error instanceof LeaseLost ? error : expiry.error('its renewal failed: see the cause', error);

  return { ...lease, renew };
}

/** The end of a lease by the clock: its signal aborts then, unless it is stopped before. */
class Expiry {
  readonly #resource: string;
  readonly #lost = new AbortController();
  readonly #grantedAt = performance.now();
  #deadline = 0;
  readonly #alarm = new Alarm();
  #isStopped = false;

  /** @param validMs from now on */
  constructor(resource: string, validMs: number) {
    this.#resource = resource;
    this.renew(validMs);
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  remainingMs(): number {
    return this.signal.aborted ? 0 : Math.max(0, this.#deadline - performance.now());
  }

  /** The lease is valid for `validMs` from now on. */
  renew(validMs: number): void {
    if (this.#isStopped) return;
    this.#deadline = performance.now() + validMs;
    this.#alarm.set(
      () => this.remainingMs(),
      () => this.lose(this.error()),
    );
  }

  lose(error: LeaseLost): void {
    if (!this.#isStopped) this.#lost.abort(error);
  }

  stop(): void {
    this.#isStopped = true;
    this.#alarm.clear();
  }

  error(advice?: string, cause?: unknown): LeaseLost {
    const endedAt = Math.min(this.#deadline, performance.now());
    const lastedMs = Math.max(0, Math.round(endedAt - this.#grantedAt)); // Its answer may be late.
    return new LeaseLost(this.#resource, lastedMs, advice, cause);
  }
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
