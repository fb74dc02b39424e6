/** Waiting for a lock by asking again, for no longer than the caller wants. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AcquireOptions, Lease, Lock } from '../lock.ts';

export interface PollingOptions {
  /** The lease of an acquire that names none, in milliseconds. */
  readonly leaseMs: number;
  /** The pause between two attempts, in milliseconds. */
  readonly retryMs: number;
}

/** A lock whose waiters ask again. @param attempt asks once; null: another owner has it. */
export const pollingLock = (
  attempt: (resource: string, leaseMs: number) => Promise<Lease | null>,
  { leaseMs, retryMs }: PollingOptions,
): Lock => ({
  acquire: (resource, options) =>
    poll(
      () => attempt(resource, options.leaseMs ?? leaseMs),
      options,
      () => retryMs,
    ),
});

/**
 * Asks at once, then again after pauses with ±50 % jitter, so that waiters do not ask at the same
 * moment.
 * @param pauseMs the pause after so many attempts, in milliseconds.
 * @returns the first lease, or null once `waitMs` has passed; the last pause is cut to the
 * remaining time.
 */
export async function poll(
  attempt: () => Promise<Lease | null>,
  { waitMs, signal }: AcquireOptions,
  pauseMs: (attempts: number) => number,
): Promise<Lease | null> {
  const leftMs = timeLeft(waitMs);
  for (let attempts = 1; ; attempts++) {
    signal?.throwIfAborted();
    const lease = await attempt();
    if (lease && !signal?.aborted) return lease;
    if (lease) await lease.release(); // The caller gave up while the answer was on its way.
    if (leftMs() === 0 && !signal?.aborted) return null;
    await pause(Math.min(leftMs(), pauseMs(attempts) * (0.5 + Math.random())), signal);
  }
}

async function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  await sleep(delayMs, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
}

/** The remaining part of a wait, in milliseconds; 0 once it is over. */
export function timeLeft(waitMs: number): () => number {
  const deadline = performance.now() + waitMs;
  return () => Math.max(0, deadline - performance.now());
}

/** Releases a lease that was granted to a caller who gave up meanwhile. @throws the abort reason */
export async function keepUnlessAborted(lease: Lease, signal?: AbortSignal): Promise<Lease> {
  if (signal?.aborted) await lease.release();
  signal?.throwIfAborted();
  return lease;
}

/**
 * The result of the work, or null after `waitMs`; the work continues.
 * @throws the work's error, or the abort reason
 */
export async function inTime<T>(
  work: Promise<T>,
  waitMs: number,
  signal?: AbortSignal,
): Promise<T | null> {
  signal?.throwIfAborted();
  let stop = () => {};
  const enough = new Promise<null>((resolve, reject) => {
    const timer = setTimeout(resolve, waitMs, null);
    const abort = () => reject(signal?.reason);
    signal?.addEventListener('abort', abort);
    stop = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
  });
  return Promise.race([work, enough]).finally(stop);
}
