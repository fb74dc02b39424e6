/**
 * Idea. SET NX PX with a random owner; the release compares and deletes in one script, so nobody deletes another's lock.
 * Holds while. The sale is shorter than the lease and the Redis master keeps its data.
 * Breaks when. The sale outlasts the lease, the holder is paused past it, or a replica without the key takes over.
 * Source. Redis, "Distributed locks with Redis"; the course notes' last version of SimpleRedisLock.
 */
import { randomUUID } from 'node:crypto';
import type { Connections } from '../connections/connections.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { LockServiceUnavailable } from '../errors.ts';
import { type Lease, type Lock, timedLease } from './lock.ts';
import { askAgain } from './waiting.ts';

const retryMs = 20;
const releaseIfOwner = loadScript('release-if-owner');

export function open(connections: Connections): Lock {
  const redis = connections.redis('lock');

  async function attempt(resource: string, leaseMs: number): Promise<Lease | null> {
    const key = `lock:${resource}`;
    const owner = randomUUID();
    const askedAt = performance.now();
    const release = async () => {
      await runScript(redis, releaseIfOwner, [key], [owner]);
    };
    try {
      if ((await redis.set(key, owner, 'PX', leaseMs, 'NX')) !== 'OK') return null;
    } catch (cause) {
      await release().catch(() => {}); // The SET may have landed; if this cannot either, the lease ends by itself.
      throw new LockServiceUnavailable(resource, 0, 1, cause);
    }
    return timedLease(resource, leaseMs - (performance.now() - askedAt), release);
  }

  return {
    acquire: (resource, options) =>
      askAgain(
        () => attempt(resource, options.leaseMs ?? connections.config.LOCK_LEASE_MS),
        options,
        retryMs,
      ),
  };
}
