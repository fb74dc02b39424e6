/**
 * Idea. Whoever gives the lock back publishes a message, and who waits for it subscribes instead of asking again and again.
 * Holds while. The waiter listens before the message is sent, and all that redis-atomic needs.
 * Breaks when. The release falls between a waiter's try and its subscription, or the holder dies before the message: the
 *   waiter sleeps beside a free lock, until the lease that it saw would have ended or its time is over.
 * Source. The missed wake-up of every monitor; Redisson tries once more after it has subscribed for this reason.
 */
import { randomUUID } from 'node:crypto';
import { checkpoint } from '../checkpoints.ts';
import type { Connections } from '../connections/connections.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { LockServiceUnavailable } from '../errors.ts';
import { type AcquireOptions, type Lease, type Lock, timedLease } from './lock.ts';
import { keepUnlessAborted, timeLeft } from './waiting.ts';
import { wakeUps } from './wake-ups.ts';

const releaseIfOwner = loadScript('release-if-owner');

export function open(connections: Connections): Lock {
  const redis = connections.redis('lock');
  const subscribe = wakeUps(connections);

  /** @returns the lease, or how long the present one lasts. */
  async function attempt(resource: string, leaseMs: number): Promise<Lease | number> {
    const key = `lock:${resource}`;
    const owner = randomUUID();
    const askedAt = performance.now();
    const release = async () => {
      const answer = await runScript(redis, releaseIfOwner, [key], [owner]);
      if (answer === 'released') await redis.publish(`released:${resource}`, owner);
    };
    try {
      if ((await redis.set(key, owner, 'PX', leaseMs, 'NX')) !== 'OK')
        return Math.max(0, await redis.pttl(key));
    } catch (cause) {
      await release().catch(() => {}); // The SET may have landed; if this cannot either, the lease ends by itself.
      throw new LockServiceUnavailable(resource, 0, 1, cause);
    }
    return timedLease(resource, leaseMs - (performance.now() - askedAt), release);
  }

  async function acquire(resource: string, options: AcquireOptions): Promise<Lease | null> {
    const { waitMs, leaseMs = connections.config.LOCK_LEASE_MS, signal } = options;
    const leftMs = timeLeft(waitMs);
    signal?.throwIfAborted();
    let result = await attempt(resource, leaseMs);
    if (typeof result !== 'number') return keepUnlessAborted(result, signal);
    if (waitMs === 0) return null;
    await checkpoint('before-subscribe');
    const subscription = subscribe(`released:${resource}`);
    try {
      if (!(await subscription.listening(leftMs(), signal))) return null;
      for (;;) {
        const lastMs = leftMs();
        const called = await subscription.woken(Math.min(result, lastMs), signal);
        if (!called && lastMs <= result) return null;
        result = await attempt(resource, leaseMs);
        if (typeof result !== 'number') return await keepUnlessAborted(result, signal);
      }
    } catch (error) {
      subscription.passOn(); // It may have been called, and did nothing with it.
      throw error;
    } finally {
      subscription.close();
    }
  }

  return { acquire };
}
