/**
 * Idea. SET NX PX: the key expires by itself, so a dead holder blocks nobody for long. The release deletes it.
 * Holds while. Every sale is shorter than the lease.
 * Breaks when. A holder stalls past its lease: it sells beside the next holder, or its release deletes that one's key, and
 *   a third gets in.
 * Source. The course notes' second SimpleRedisLock.
 */
import type { Connections } from '../connections/connections.ts';
import { LockServiceUnavailable } from '../errors.ts';
import { type Lease, type Lock, timedLease } from './lock.ts';
import { askAgain } from './waiting.ts';

const retryMs = 20;

export function open(connections: Connections): Lock {
  const redis = connections.redis('lock');

  async function attempt(resource: string, leaseMs: number): Promise<Lease | null> {
    const key = `lock:${resource}`;
    const askedAt = performance.now();
    const release = async () => {
      await redis.del(key);
    };
    try {
      if ((await redis.set(key, 'locked', 'PX', leaseMs, 'NX')) !== 'OK') return null;
    } catch (cause) {
      throw new LockServiceUnavailable(resource, 0, 1, cause); // The SET may have landed: then the lease ends by itself.
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
