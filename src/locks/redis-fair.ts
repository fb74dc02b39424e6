/**
 * Idea. The same hash, owner and watchdog, and a queue: the lock goes to whoever has waited longest, and only he is called.
 * Holds while. As redis-reentrant; and everybody in the queue is alive.
 * Breaks when. As redis-reentrant. And a waiter dies: everybody behind it waits for its turn to pass, minutes long.
 * Source. Redisson's RedissonFairLock (3.52): a list of owners, a sorted set of when the turn of each has passed, and a
 *   channel for each owner, with the same names.
 */
import { checkpoint } from '../checkpoints.ts';
import type { Connections } from '../connections/connections.ts';
import { untilAnswered } from '../connections/redis.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import type { AcquireOptions, Lease, Lock } from './lock.ts';
import { channelOf, redissonHolds, released, tagged } from './redisson-holds.ts';
import { keepUnlessAborted, timeLeft } from './waiting.ts';
import { wakeUps, whenCalled } from './wake-ups.ts';

const acquireScript = loadScript('acquire-fair');
const releaseScript = loadScript('release-fair');
const leaveScript = loadScript('leave-fair');
/** How long the lock is kept for one whose turn it is: Redisson's default. */
const turnMs = '300000';
/** Whose turn it is has been called: those behind ask after it, but not all the time. */
const leastPauseMs = 250;
const leaveTries = 30;

const lineOf = (key: string) => [tagged('redisson_lock_queue', key), tagged('redisson_lock_timeout', key)];
const now = () => String(Date.now()); // By the clients' clocks, as in Redisson.

export function open(connections: Connections): Lock {
  const redis = connections.redis('lock');
  const subscribe = wakeUps(connections);
  const holds = redissonHolds(connections, {
    take: (key, owner, lastsMs, waits) => {
      const args = [lastsMs, owner, turnMs, now(), waits ? 'wait' : 'try'];
      return runScript(redis, acquireScript, [key, ...lineOf(key)], args);
    },
    giveBack: ({ key, owner, othersMs, latch, latchMs }) => {
      const keys = [key, ...lineOf(key), channelOf(key), latch];
      return runScript(redis, releaseScript, keys, [released, othersMs, owner, now(), latchMs]);
    },
  });

  async function acquire(
    resource: string,
    { waitMs, leaseMs, signal }: AcquireOptions,
  ): Promise<Lease | null> {
    const leftMs = timeLeft(waitMs);
    const [key, owner] = [`lock:${resource}`, holds.owner()];
    const attempt = () => holds.attempt({ key, owner, leaseMs, waits: waitMs > 0 });
    signal?.throwIfAborted();
    let lease: Lease | null = null;
    try {
      const first = await attempt();
      if (typeof first !== 'number') lease = await keepUnlessAborted(first, signal);
      if (lease || waitMs === 0) return lease;
      await checkpoint('before-subscribe');
      const again = async () => atLeast(leastPauseMs, await attempt());
      lease = await whenCalled(subscribe(`${channelOf(key)}:${owner}`), again, leftMs, signal);
      return lease;
    } finally {
      if (!lease && waitMs > 0) leave(key, owner);
    }
  }

  /** Goes on until it is said: one who is in line and does not come keeps everybody waiting. */
  function leave(key: string, owner: string): void {
    const keys = [key, ...lineOf(key), channelOf(key)];
    const say = () => runScript(redis, leaveScript, keys, [owner, turnMs, released]);
    untilAnswered(redis, leaveTries, 2_000, say).catch(() => {}); // Its turn passes at last.
  }

  return { reentrant: true, acquire };
}

const atLeast = (pauseMs: number, result: Lease | number): Lease | number =>
  typeof result === 'number' && result >= 0 ? Math.max(result, pauseMs) : result;
