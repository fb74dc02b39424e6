/**
 * Idea. A hash of owner → count: its owner may take it again. A watchdog renews the lease while the sale runs, and a
 *   release is published; who waits subscribes, looks once more, and is then called.
 * Holds while. The process lives and its event loop turns within the lease, and the Redis master keeps its data.
 * Breaks when. The holder is paused past the lease, or a replica without the key takes over. It says so, by `signal`.
 * Source. Redisson's RLock, commit 66863978 (August 2026): same keys, channel, latch and answers, so that a JVM with
 *   Redisson and this lock exclude each other on one Redis (tested with Redisson 3.52).
 */
import { checkpoint } from '../checkpoints.ts';
import type { Connections } from '../connections/connections.ts';
import type { AcquireOptions, Lease, Lock } from './lock.ts';
import { channelOf, hashProtocol, redissonHolds } from './redisson-holds.ts';
import { keepUnlessAborted, timeLeft } from './waiting.ts';
import { wakeUps, whenCalled } from './wake-ups.ts';

export function open(connections: Connections): Lock {
  const subscribe = wakeUps(connections);
  const holds = redissonHolds(connections, hashProtocol(connections));

  async function acquire(resource: string, options: AcquireOptions): Promise<Lease | null> {
    const { waitMs, leaseMs, signal } = options;
    const leftMs = timeLeft(waitMs);
    const [key, owner] = [`lock:${resource}`, holds.owner()];
    signal?.throwIfAborted();
    const attempt = () => holds.attempt({ key, owner, leaseMs, waits: waitMs > 0 });
    const first = await attempt();
    if (typeof first !== 'number') return keepUnlessAborted(first, signal);
    if (waitMs === 0) return null;
    await checkpoint('before-subscribe');
    return whenCalled(subscribe(channelOf(key)), attempt, leftMs, signal);
  }

  return { reentrant: true, acquire };
}
