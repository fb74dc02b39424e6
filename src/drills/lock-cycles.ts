/** What is measured of locks: taking one and giving it back once, with each lock of the ladder and two to compare. */
import { Mutex as SemaphoreMutex } from 'redis-semaphore';
import type { Connections } from '../connections/connections.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { DeadlinePassed } from '../errors.ts';
import { ladder, type Rung, rungNames } from '../ladder.ts';
import type { Lock, LockModule } from '../locks/lock.ts';

/** Takes a lock and gives it back once; tells how long it waited for it. */
export type Cycle = (resource: string) => Promise<number>;

/** The floor: the two scripts that any such lock must send, and nothing else. */
export const floor = 'two raw scripts (the floor)';

const waitMs = 60_000;

/** By name, the floor first. */
export async function openCycles(connections: Connections): Promise<Record<string, Cycle>> {
  const cycles: Record<string, Cycle> = {
    [floor]: rawScripts(connections),
    'redis-semaphore (Mutex)': semaphore(connections),
  };
  const locks: Record<string, Cycle> = {};
  const opened = new Set<LockModule>();
  for (const rung of rungNames.toReversed()) {
    const { locked, lockInside, lock }: Rung = ladder[rung];
    if (!locked || lockInside) continue;
    const module = await lock();
    if (opened.has(module)) continue; // The rungs of the process mutex share one.
    opened.add(module);
    locks[rung] = cycleOf(module.open(connections));
  }
  await connections.ready();
  return { ...cycles, ...Object.fromEntries(Object.entries(locks).toReversed()) };
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

/** The two scripts of the reentrant lock, and its latch taken away as it does: without the lock around them. */
export function rawScripts(connections: Connections): Cycle {
  const redis = connections.redis('lock');
  const [acquire, release] = [loadScript('acquire-reentrant'), loadScript('release-reentrant')];
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
