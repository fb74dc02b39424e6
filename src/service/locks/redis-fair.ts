/**
 * Idea. The hash, owner and watchdog of redis-reentrant, and a queue: the lock goes to the longest
 *   waiter, and the release notifies only that one.
 * Holds while. As redis-reentrant; and every process with a waiter lives.
 * Breaks when. As redis-reentrant. And when a waiter dies, every waiter behind it waits until its
 *   turn times out.
 * Source. Redisson's RedissonFairLock (3.52): a list of owners, a sorted set of when the turn of
 *   each times out, and a channel for each owner, with the same names.
 */
import type { Redis } from 'ioredis';
import { loadScript, runScript } from '../connections/scripts.ts';
import type { Lease, Lock } from './lock.ts';
import { oneWaitPerOwner } from './shared/owner.ts';
import {
  channelOf,
  type Protocol,
  RedissonLeases,
  type RedissonOptions,
  releaseMessage,
  tagged,
} from './shared/redisson-leases.ts';
import {
  askThenSubscribe,
  releaseNotifications,
  type SubscriberOptions,
} from './shared/release-notifications.ts';
import { serverLock, untilReleased } from './shared/server-lock.ts';

const acquireScript = loadScript('locks/acquire-fair');
const releaseScript = loadScript('locks/release-fair');
const leaveScript = loadScript('locks/leave-fair');
const defaultTurnMs = 300_000;
/** A release notifies the first waiter; the others ask from time to time only. */
const pauseMsMin = 250;
const leaveAnswerMs = 2_000;

const queueOf = (key: string) => [
  tagged('redisson_lock_queue', key),
  tagged('redisson_lock_timeout', key),
];
const now = () => String(Date.now()); // By the clients' clocks, as in Redisson.

/** What `redisFairLock` takes beside its client. */
export interface FairOptions extends RedissonOptions, SubscriberOptions {
  /**
   * How long the lock is kept free for the waiter whose turn it is; 300,000 ms without it, as in
   * Redisson. All clients of a lock need the same.
   */
  readonly turnMs?: number;
}

/** As `redisReentrantLock`; granted in the order in which owners came. */
export function redisFairLock(redis: Redis, options: FairOptions = {}): Lock {
  const turnMs = String(options.turnMs ?? defaultTurnMs);
  const subscribe = releaseNotifications(redis, options);
  const leases = new RedissonLeases(redis, fairProtocol(redis, turnMs), options);

  const acquire: Lock['acquire'] = (resource, options) => {
    const { leaseMs, waitMs } = options;
    const owner = leases.owner();
    const request = { resource, owner, leaseMs, waits: waitMs > 0 };
    const attempt = async () => atLeast(pauseMsMin, await leases.attempt(request));
    const ownChannel = () => subscribe(`${channelOf(leases.keyOf(resource))}:${owner}`);
    return askThenSubscribe(attempt, ownChannel, options);
  };

  /** Retries until Redis confirms: a stale queue entry blocks every waiter behind it. */
  function leaveQueue(resource: string, isWaiting: () => boolean): void {
    const key = leases.keyOf(resource);
    const owner = leases.owner();
    const keys = [key, ...queueOf(key), channelOf(key)];
    const leave = async () => {
      if (isWaiting()) return; // The place belongs to the owner's next wait.
      await runScript(redis, leaveScript, keys, [owner, turnMs, releaseMessage]);
    };
    // Its turn times out in the end.
    untilReleased(redis, leaveAnswerMs, leave).catch(() => {});
  }

  return serverLock(oneWaitPerOwner({ acquire }, leaveQueue), options.answerMs);
}

const fairProtocol = (redis: Redis, turnMs: string): Protocol => ({
  take: (key, owner, leaseMs, waits) => {
    const args = [leaseMs, owner, turnMs, now(), waits ? 'wait' : 'try', releaseMessage];
    return runScript(redis, acquireScript, [key, ...queueOf(key), channelOf(key)], args);
  },
  giveBack: ({ key, owner, othersMs, latch, latchMs }) => {
    const keys = [key, ...queueOf(key), channelOf(key), latch];
    return runScript(redis, releaseScript, keys, [releaseMessage, othersMs, owner, now(), latchMs]);
  },
});

const atLeast = (pauseMs: number, result: Lease | number): Lease | number =>
  typeof result === 'number' && result >= 0 ? Math.max(result, pauseMs) : result;
