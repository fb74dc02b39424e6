/**
 * Idea. SET NX in a Redis that all instances share: one key, one holder. The release deletes it.
 * Holds while. Every holder lives to release.
 * Breaks when. A holder dies: its key stays for ever, and nobody can buy.
 * Source. The course notes' first SimpleRedisLock.
 */
import type { Connections } from '../connections/connections.ts';
import { LockServiceUnavailable } from '../errors.ts';
import { endlessLease, type Lease, type Lock } from './lock.ts';
import { askAgain } from './waiting.ts';

const retryMs = 20;

export function open(connections: Connections): Lock {
  const redis = connections.redis('lock');

  async function attempt(resource: string): Promise<Lease | null> {
    const key = `lock:${resource}`;
    const release = async () => {
      await redis.del(key);
    };
    try {
      if ((await redis.set(key, 'locked', 'NX')) !== 'OK') return null;
    } catch (cause) {
      throw new LockServiceUnavailable(resource, 0, 1, cause); // The SET may have landed: then it stays.
    }
    return endlessLease(release);
  }

  return {
    acquire: (resource, options) => askAgain(() => attempt(resource), options, retryMs),
  };
}
