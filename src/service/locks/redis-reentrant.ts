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
import type { Lock } from './lock.ts';
import { oneWaitPerOwner } from './shared/owner.ts';
import {
  channelOf,
  hashProtocol,
  RedissonLeases,
  type RedissonOptions,
} from './shared/redisson-leases.ts';
import {
  askThenSubscribe,
  releaseNotifications,
  type SubscriberOptions,
} from './shared/release-notifications.ts';
import { serverLock } from './shared/server-lock.ts';

/** Redisson’s lock: reentrant, and renewed while its owner works. @throws OptionInvalid */
export function redisReentrantLock(
  redis: Redis,
  options: RedissonOptions & SubscriberOptions = {},
): Lock {
  const subscribe = releaseNotifications(redis, options);
  const leases = new RedissonLeases(redis, hashProtocol(redis), options);

  const acquire: Lock['acquire'] = (resource, options) => {
    const { leaseMs, waitMs } = options;
    const request = { resource, owner: leases.owner(), leaseMs, waits: waitMs > 0 };
    const attempt = () => leases.attempt(request);
    return askThenSubscribe(attempt, () => subscribe(channelOf(leases.keyOf(resource))), options);
  };

  return serverLock(oneWaitPerOwner({ acquire }), options.answerMs);
}
