/**
 * Idea. The release publishes a message, and a waiter subscribes instead of asking again and again.
 * Holds while. The waiter listens before the message is sent, and all that redis-atomic needs.
 * Breaks when. The release falls between a waiter's attempt and its subscription (a lost wake-up),
 *   or the owner dies before it publishes: the waiter sleeps beside a free lock until the lease it
 *   saw would have expired.
 * Source. The lost wake-up of every monitor. Redisson asks once more after it has subscribed, for
 *   this reason.
 */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { loadScript, runScript } from '../connections/scripts.ts';
import { checkpoint } from '../trace/checkpoints.ts';
import { tellWaiting } from '../trace/history.ts';
import {
  type AcquireOptions,
  defaultKeyPrefix,
  defaultLeaseMs,
  type Lease,
  type Lock,
  type RedisLockOptions,
} from './lock.ts';
import { keepUnlessAborted, timeLeft } from './shared/deadlines.ts';
import { releaseNotifications, type SubscriberOptions } from './shared/release-notifications.ts';
import { KeyLeases, serverLock } from './shared/server-lock.ts';

const releaseIfOwner = loadScript('locks/release-if-owner');

/** As `redisAtomicLock`; a message wakes one who waits. */
export function redisMessageLock(
  redis: Redis,
  options: RedisLockOptions & SubscriberOptions = {},
): Lock {
  const { keyPrefix = defaultKeyPrefix, leaseMs: defaultMs = defaultLeaseMs } = options;
  const leases = new KeyLeases(redis, options);
  const subscribe = releaseNotifications(redis, options);
  const channelOf = (resource: string) => `released:${keyPrefix}${resource}`;

  /** @returns the lease, or how long the present one lasts, in milliseconds; it may have no end. */
  async function attempt(resource: string, leaseMs: number): Promise<Lease | number> {
    const key = keyPrefix + resource;
    const owner = randomUUID();
    let isRepeated = false;
    const release = async () => {
      const mayBeUnheard = isRepeated; // The answer to an earlier copy was lost, and its message.
      isRepeated = true;
      const answer = await runScript(redis, releaseIfOwner, [key], [owner]);
      if (answer === 'released' || mayBeUnheard) await redis.publish(channelOf(resource), owner);
    };
    const ask = () => redis.set(key, owner, 'PX', leaseMs, 'NX');
    const lease = await leases.lease({ resource, leaseMs, ask, release });
    return lease ?? waitFor(await redis.pttl(key));
  }

  async function acquire(resource: string, options: AcquireOptions): Promise<Lease | null> {
    const { waitMs, leaseMs = defaultMs, signal } = options;
    const leftMs = timeLeft(waitMs);
    signal?.throwIfAborted();
    let result = await attempt(resource, leaseMs);
    if (typeof result !== 'number') return keepUnlessAborted(result, signal);
    if (waitMs === 0) return null;
    await checkpoint('before-subscribe');
    const subscription = subscribe(channelOf(resource));
    try {
      if (!(await subscription.listening(leftMs(), signal))) return null;
      tellWaiting();
      for (;;) {
        const remainingMs = leftMs();
        const isNotified = await subscription.notified(Math.min(result, remainingMs), signal);
        if (!isNotified && remainingMs <= result) return null;
        result = await attempt(resource, leaseMs);
        if (typeof result !== 'number') return await keepUnlessAborted(result, signal);
      }
    } catch (error) {
      subscription.handOver(); // This waiter may have been notified, and cannot use it.
      throw error;
    } finally {
      subscription.close();
    }
  }

  return serverLock({ acquire }, options.answerMs);
}

/** How long to wait by the answer of PTTL: -1 is a key without an expiry, -2 no key. */
const waitFor = (leftMs: number): number =>
  leftMs === -1 ? Number.POSITIVE_INFINITY : Math.max(0, leftMs);
