/**
 * Idea. A hash of owner → count: the owner may acquire again. A watchdog renews the lease while the
 *   sale runs, and the release is published; a waiter subscribes, asks once more, and is then
 *   notified.
 * Holds while. The process lives and its event loop turns within the lease, and the Redis master
 *   keeps its data.
 * Breaks when. The process is paused past the lease, or a replica without the key is promoted.
 *   `signal` says so. A lock that a living process never releases is renewed for ever. Parallel
 *   branches of one owner (Promise.all) are all inside: it is their lock.
 * Source. Redisson's RLock, commit 66863978 (August 2026): same keys, channel, latch and answers,
 *   so that a JVM with Redisson and this lock exclude each other on one Redis (tested with Redisson
 *   3.52).
 */
import type { Redis } from 'ioredis';
import { checkpoint } from '../trace/checkpoints.ts';
import type { AcquireOptions, Lease, Lock } from './lock.ts';
import { keepUnlessAborted, timeLeft } from './shared/deadlines.ts';
import { oneWaitPerOwner } from './shared/one-wait-per-owner.ts';
import {
  channelOf,
  hashProtocol,
  RedissonLeases,
  type RedissonOptions,
} from './shared/redisson-leases.ts';
import {
  acquireWhenNotified,
  releaseNotifications,
  type SubscriberOptions,
} from './shared/release-notifications.ts';
import { serverLock } from './shared/server-lock.ts';

export function redisReentrantLock(
  redis: Redis,
  options: RedissonOptions & SubscriberOptions = {},
): Lock {
  const subscribe = releaseNotifications(redis, options);
  const leases = new RedissonLeases(redis, hashProtocol(redis), options);

  async function acquire(
    resource: string,
    { waitMs, leaseMs, signal }: AcquireOptions,
  ): Promise<Lease | null> {
    const leftMs = timeLeft(waitMs);
    const owner = leases.owner();
    const attempt = () => leases.attempt({ resource, owner, leaseMs, waits: waitMs > 0 });
    const first = await attempt();
    if (typeof first !== 'number') return keepUnlessAborted(first, signal);
    if (waitMs === 0) return null;
    await checkpoint('before-subscribe');
    const subscription = subscribe(channelOf(leases.keyOf(resource)));
    return acquireWhenNotified(subscription, attempt, leftMs, signal);
  }

  return serverLock(oneWaitPerOwner({ acquire }), options.answerMs);
}
