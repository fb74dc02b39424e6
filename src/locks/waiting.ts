/** Waiting for a lock: by asking again, where its service cannot call back, and for no longer than was said. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AcquireOptions, Lease } from './lock.ts';

/**
 * Tries at once, then again after pauses with ±50 % jitter, so that waiters do not march in step.
 * @param pauseMs how long to wait after so many tries.
 * @returns the first lease, or null once `waitMs` has passed; a wait is cut to what is left of it.
 */
export async function askAgain(
  attempt: () => Promise<Lease | null>,
  { waitMs, signal }: AcquireOptions,
  pauseMs: number | ((tries: number) => number),
): Promise<Lease | null> {
  const leftMs = timeLeft(waitMs);
  const pauseAfter = typeof pauseMs === 'number' ? () => pauseMs : pauseMs;
  for (let tries = 1; ; tries++) {
    signal?.throwIfAborted();
    const lease = await attempt();
    if (lease && !signal?.aborted) return lease;
    if (lease) await lease.release(); // The caller left while we were asking.
    if (leftMs() === 0 && !signal?.aborted) return null;
    await pause(Math.min(leftMs(), pauseAfter(tries) * (0.5 + Math.random())), signal);
  }
}

async function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  await sleep(delayMs, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
}

/** How much of the wait is left, in milliseconds; 0 once it is over. */
export function timeLeft(waitMs: number): () => number {
  const deadline = performance.now() + waitMs;
  return () => Math.max(0, deadline - performance.now());
}

/** What was granted to a caller who has left meanwhile is given back. @throws the reason of the abort */
export async function keepUnlessAborted(lease: Lease, signal?: AbortSignal): Promise<Lease> {
  if (signal?.aborted) await lease.release();
  signal?.throwIfAborted();
  return lease;
}

/** What the work comes to, or null after `waitMs`; the work goes on. @throws what the work throws, or the abort's reason */
export async function inTime<T>(work: Promise<T>, waitMs: number, signal?: AbortSignal): Promise<T | null> {
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
