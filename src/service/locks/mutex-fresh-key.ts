/**
 * Idea. A mutex for each user, found by the object that names the user. Every request makes a new
 *   object.
 * Holds while. Each user sends one request at a time.
 * Breaks when. Two requests of one user arrive: equal names, different objects, different mutexes.
 *   It excludes nobody.
 * Source. The course notes' `synchronized (userId.toString())` without `intern()`.
 */
import { Mutex } from 'async-mutex';
import type { Lease, Lock } from './lock.ts';
import { endlessLease } from './shared/leases.ts';

export function mutexFreshKey(): Lock {
  const mutexes = new WeakMap<object, Mutex>();

  async function acquire(resource: string): Promise<Lease | null> {
    // A new object each time, as `toString()` makes a new string.
    const key = Object(resource) as object;
    const mutex = mutexes.get(key) ?? new Mutex();
    mutexes.set(key, mutex);
    const unlock = await mutex.acquire();
    return endlessLease(async () => unlock());
  }

  return { acquire };
}
