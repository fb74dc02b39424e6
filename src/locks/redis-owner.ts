/**
 * Idea. SET NX PX with a random owner; the release looks whose key it is, then deletes it.
 * Holds while. Nothing happens between the look and the delete, and the sale is shorter than the lease.
 * Breaks when. The lease ends in that gap: the delete hits the key of the next holder, and a third gets in. Or the sale
 *   outlasts its lease.
 * Source. The course notes' third SimpleRedisLock.
 */
import { randomUUID } from 'node:crypto';
import { checkpoint } from '../checkpoints.ts';
import type { Connections } from '../connections/connections.ts';
import { LockServiceUnavailable } from '../errors.ts';
import { type Lease, type Lock, timedLease } from './lock.ts';
import { askAgain } from './waiting.ts';

const retryMs = 20;

export function open(connections: Connections): Lock {
  const redis = connections.redis('lock');

  async function attempt(resource: string, leaseMs: number): Promise<Lease | null> {
    const key = `lock:${resource}`;
    const owner = randomUUID();
    const askedAt = performance.now();
    const release = async () => {
      if ((await redis.get(key)) !== owner) return;
      await checkpoint('owner-checked');
      await redis.del(key);
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
