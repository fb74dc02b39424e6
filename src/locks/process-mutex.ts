/**
 * Idea. One mutex for each resource in this process's memory: the notes' `synchronized (userId.intern())`.
 * Holds while. One process sells.
 * Breaks when. A second process sells too: it has a mutex of its own, and the two never meet.
 * Source. async-mutex; the course notes' chapter on one order per user.
 */
import { E_TIMEOUT, Mutex, withTimeout } from 'async-mutex';
import { type AcquireOptions, endlessLease, type Lease, type Lock } from './lock.ts';

interface Entry {
  readonly mutex: Mutex;
  /** Holders and waiters; the entry leaves the map with the last of them. */
  users: number;
}

export function open(): Lock {
  const entries = new Map<string, Entry>();

  async function acquire(resource: string, { waitMs, signal }: AcquireOptions): Promise<Lease | null> {
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

/** Waits for the mutex, for the time-out or for the abort; a wait that was given up passes its turn on. */
async function locked(mutex: Mutex, waitMs: number, signal?: AbortSignal): Promise<() => void> {
  if (waitMs === 0 && mutex.isLocked()) throw E_TIMEOUT;
  const turn = withTimeout(mutex, Math.max(1, waitMs)).acquire();
  if (!signal) return turn;
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      reject(signal.reason);
      turn.then((unlock) => unlock()).catch(() => {}); // Its time-out has nobody left to tell.
    };
    signal.addEventListener('abort', giveUp, { once: true });
    turn.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}
