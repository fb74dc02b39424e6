/** Work that may take longer than its lease: the lease is renewed while the work runs. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Lease, type Lock, type UsingOptions, using } from '../lock.ts';

export interface UsingRenewedOptions extends UsingOptions {
  /** How long the lease lasts after each renewal, in milliseconds. */
  readonly leaseMs: number;
  /** No error is hidden: a release that failed is reported here. */
  readonly onReleaseFailed: (error: unknown) => void;
}

/**
 * Runs `work` while holding the lock, renews the lease in time, and always releases it. The
 * lease's signal aborts with LeaseLost when it could not be renewed. A lease without `renew` ends
 * by its clock.
 * @returns null when the lock was not free in time.
 * @throws the work's error; LeaseLost when the lease was lost before the work ended.
 */
export const usingRenewed = <T>(
  lock: Lock,
  resource: string,
  options: UsingRenewedOptions,
  work: (lease: Lease) => Promise<T>,
): Promise<T | null> =>
  using(lock, resource, options, async (lease) => {
    const ended = new AbortController();
    const renewing = keepRenewed(lease, options.leaseMs, ended.signal);
    try {
      const result = await work(lease);
      lease.assertHeld(); // Another owner may have worked at the same time.
      return result;
    } finally {
      ended.abort();
      await renewing; // No renewal is on its way when the lease is released.
    }
  });

/** Each third of the time that is left, until the work has ended or the lease is lost. */
async function keepRenewed(lease: Lease, leaseMs: number, ended: AbortSignal): Promise<void> {
  const { renew } = lease;
  if (!renew) return;
  while (!ended.aborted && !lease.signal.aborted) {
    await sleep(lease.remainingMs() / 3, undefined, { signal: ended }).catch(() => {});
    // A failure that loses the lease aborts its signal; after any other it is tried again.
    if (!ended.aborted) await renew(leaseMs).catch(() => {});
  }
}
