/**
 * One cycle of a lock: acquire and release. There is one for each lock of the ladder, and two for
 * comparison.
 */

import { Mutex as SemaphoreMutex } from 'redis-semaphore';
import type { Connections } from '../../service/connections/connections.ts';
import { loadScript, runScript } from '../../service/connections/scripts.ts';
import { serviceError } from '../../service/errors.ts';
import { lockFactories } from '../../service/ladder/factories.ts';
import type { Lock } from '../../service/locks/lock.ts';

/** Acquires and releases a lock once. @returns how long it waited for the lock, in milliseconds */
export type Cycle = (resource: string) => Promise<number>;

/** The floor: only the two scripts that every such lock must send. */
export const floor = 'two raw scripts (the floor)';

const waitMs = 60_000;

/** By name, the floor first. */
export async function openCycles(connections: Connections): Promise<Record<string, Cycle>> {
  const cycles: Record<string, Cycle> = {
    [floor]: rawScripts(connections),
    'redis-semaphore (Mutex)': semaphore(connections),
  };
  for (const [rung, open] of lockFactories()) cycles[rung] = cycleOf(open(connections));
  await connections.ready();
  return cycles;
}

const cycleOf =
  (lock: Lock): Cycle =>
  async (resource) => {
    const askedAt = performance.now();
    const lease = await lock.acquire(resource, { waitMs });
    const waitedMs = performance.now() - askedAt;
    if (!lease) throw serviceError('DEADLINE_PASSED', `the lock on ${resource}`, waitMs);
    await lease.release();
    return waitedMs;
  };

/** The two scripts of the reentrant lock and the removal of its latch, without the lock. */
export function rawScripts(connections: Connections): Cycle {
  const redis = connections.redis('lock');
  const acquire = loadScript('locks/acquire-reentrant');
  const release = loadScript('locks/release-reentrant');
  let releases = 0;
  return async (resource) => {
    const askedAt = performance.now();
    await runScript(redis, acquire, [resource], ['30000', 'floor']);
    const waitedMs = performance.now() - askedAt;
    releases += 1;
    const latch = `${resource}:latch:${releases}`;
    const keys = [resource, `${resource}:channel`, latch];
    await runScript(redis, release, keys, ['0', '30000', 'floor', '3000']);
    redis.del(latch).catch(() => {});
    return waitedMs;
  };
}

function semaphore(connections: Connections): Cycle {
  const redis = connections.redis('lock');
  return async (resource) => {
    const mutex = new SemaphoreMutex(redis, resource, { acquireTimeout: waitMs });
    const askedAt = performance.now();
    await mutex.acquire();
    const waitedMs = performance.now() - askedAt;
    await mutex.release();
    return waitedMs;
  };
}
