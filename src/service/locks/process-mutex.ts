/**
 * Idea. One mutex for each resource in this process's memory: the notes' `synchronized
 *   (userId.toString().intern())`.
 * Holds while. One process sells.
 * Breaks when. A second process sells too. Each process has its own mutex, so the two exclude
 *   nobody in the other.
 * Source. async-mutex; the course notes' chapter on one order per user.
 */
import { E_TIMEOUT, Mutex, withTimeout } from 'async-mutex';
import type { AcquireOptions, Lease, Lock } from './lock.ts';
import { checkRequest } from './shared/checked-options.ts';
import { boundedWait } from './shared/deadlines.ts';
import { endlessLease } from './shared/leases.ts';

interface Entry {
  readonly mutex: Mutex;
  /** The owner and the waiters; the last of them removes the entry from the map. */
  users: number;
}

/** A mutex of this process alone. */
export function processMutex(): Lock {
  const entries = new Map<string, Entry>();

  async function acquire(resource: string, options: AcquireOptions): Promise<Lease | null> {
    checkRequest(resource, options);
    const { waitMs, signal } = options;
    signal?.throwIfAborted();
    const entry = entries.get(resource) ?? { mutex: new Mutex(), users: 0 };
    entries.set(resource, entry);
    entry.users += 1;
    const forget = () => {
      entry.users -= 1;
      if (entry.users === 0) entries.delete(resource);
    };
    const unlock = await locked(entry.mutex, waitMs, signal).catch((error: unknown) => {
      forget();
      if (error === E_TIMEOUT) return null;
      throw error;
    });
    if (unlock === null) return null;
    return endlessLease(async () => {
      unlock();
      forget();
    });
  }

  return { acquire };
}

/**
 * Waits for the mutex, the timeout or the abort. After an abort, a late turn is released at once.
 */
async function locked(mutex: Mutex, waitMs: number, signal?: AbortSignal): Promise<() => void> {
  if (waitMs === 0 && mutex.isLocked()) throw E_TIMEOUT;
  const turn = withTimeout(mutex, Math.max(1, boundedWait(waitMs))).acquire();
  if (!signal) return turn;
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      reject(signal.reason);
      turn.then((unlock) => unlock()).catch(() => {}); // A timeout after the abort concerns nobody.
    };
    signal.addEventListener('abort', giveUp, { once: true });
    turn.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}
