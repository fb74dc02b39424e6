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
import { loadScript, runScript } from '../connections/scripts.ts';
import type { AcquireOptions, Lease, Lock } from './lock.ts';
import { redissonHolds, tagged } from './redisson-holds.ts';
import { keepUnlessAborted, timeLeft } from './waiting.ts';
import { wakeUps, whenCalled } from './wake-ups.ts';

const acquireScript = loadScript('acquire-reentrant');
const releaseScript = loadScript('release-reentrant');
const released = '0';

const channelOf = (key: string) => tagged('redisson_lock__channel', key);

export function open(connections: Connections): Lock {
  const redis = connections.redis('lock');
  const subscribe = wakeUps(connections);
  const holds = redissonHolds(connections, {
    take: (key, owner, lastsMs) => runScript(redis, acquireScript, [key], [lastsMs, owner]),
    giveBack: ({ key, owner, othersMs, latch, latchMs }) =>
      runScript(redis, releaseScript, [key, channelOf(key), latch], [released, othersMs, owner, latchMs]),
  });

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
