/** Waiting for no longer than the caller wants. */
import type { Lease } from '../lock.ts';

/** Six days. Twice a wait, with an answer, must still be shorter than 2³¹: the limit of a timer. */
const longestWaitMs = 2 ** 29;

/** A wait without an end becomes the longest one. A timer over its limit would end at once. */
export const boundedWait = (waitMs: number): number => Math.min(waitMs, longestWaitMs);

/** A timer that may be longer than the limit. It is called once nothing is left, not before. */
export class Alarm {
  #timer: NodeJS.Timeout | undefined;

  /** It replaces the one before. It keeps no process alive. */
  set(leftMs: () => number, work: () => void): void {
    clearTimeout(this.#timer);
    const nextMs = Math.ceil(boundedWait(leftMs()));
    const look = () => (leftMs() > 0 ? this.set(leftMs, work) : work());
    this.#timer = setTimeout(look, nextMs).unref();
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

/** The remaining part of a wait, in milliseconds; 0 once it is over. */
export function timeLeft(waitMs: number): () => number {
  const deadline = performance.now() + boundedWait(waitMs);
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
  const { promise: enough, resolve, reject } = Promise.withResolvers<null>();
  const timer = setTimeout(resolve, boundedWait(waitMs), null);
  const abort = () => reject(signal?.reason);
  signal?.addEventListener('abort', abort);
  return Promise.race([work, enough]).finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  });
}
