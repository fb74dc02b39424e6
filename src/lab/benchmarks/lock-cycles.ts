/** One cycle of a lock: acquire and release. For each lock of the ladder, and for two to compare with. */
import { Mutex as SemaphoreMutex } from 'redis-semaphore';
import type { Connections } from '../../connections/connections.ts';
import { loadScript, runScript } from '../../connections/scripts.ts';
import { DeadlinePassed } from '../../errors.ts';
import { lockFactories } from '../../ladder/factories.ts';
import type { Lock } from '../../locks/lock.ts';

/** Acquires and releases a lock once. @returns how long it waited for the lock, in milliseconds */
export type Cycle = (resource: string) => Promise<number>;

/** The floor: the two scripts that any such lock must send, and nothing more. */
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
    if (!lease) throw new DeadlinePassed(`the lock on ${resource}`, waitMs);
    await lease.release();
    return waitedMs;
  };

/** The two scripts of the reentrant lock, and the removal of its latch, without the lock around them. */
export function rawScripts(connections: Connections): Cycle {
  const redis = connections.redis('lock');
  const [acquire, release] = [
    loadScript('locks/acquire-reentrant'),
    loadScript('locks/release-reentrant'),
  ];
  let releases = 0;
  return async (resource) => {
    const askedAt = performance.now();
    await runScript(redis, acquire, [resource], ['30000', 'floor']);
    const waitedMs = performance.now() - askedAt;
    releases += 1;
    const latch = `${resource}:latch:${releases}`;
    await runScript(
      redis,
      release,
      [resource, `${resource}:channel`, latch],
      ['0', '30000', 'floor', '3000'],
    );
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
