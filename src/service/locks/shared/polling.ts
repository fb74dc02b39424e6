/** Waiting for a lock by asking again, for no longer than the caller wants. */
import { setTimeout as sleep } from 'node:timers/promises';
import { tellWaiting } from '../../trace/history.ts';
import type { AcquireOptions, Lease, Lock } from '../lock.ts';
import { timeLeft } from './deadlines.ts';
import { serverLock } from './server-lock.ts';

export interface PollingOptions {
  /** The lease of an acquire that names none, in milliseconds. */
  readonly leaseMs: number;
  /** The pause between two attempts, in milliseconds. */
  readonly retryMs: number;
  /** How long one answer of the server may take, in milliseconds. */
  readonly answerMs?: number | undefined;
}

/**
 * A lock whose waiters ask the server again.
 * @param attempt asks once; null: another owner has it.
 */
export function pollingLock(
  attempt: (resource: string, leaseMs: number) => Promise<Lease | null>,
  { leaseMs, retryMs, answerMs }: PollingOptions,
): Lock {
  const acquire: Lock['acquire'] = (resource, options) =>
    poll(
      () => attempt(resource, options.leaseMs ?? leaseMs),
      options,
      () => retryMs,
    );
  return serverLock({ acquire }, answerMs);
}

/**
 * Asks at once, then again after pauses with ±50 % jitter, so that waiters do not ask at the same
 * moment.
 * @param pauseMs the pause after this number of attempts, in milliseconds.
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
    if (attempts === 1) tellWaiting();
    await pause(Math.min(leftMs(), pauseMs(attempts) * (0.5 + Math.random())), signal);
  }
}

async function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  await sleep(delayMs, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
}
