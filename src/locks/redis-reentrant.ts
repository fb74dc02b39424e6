/**
 * Idea. A hash of owner → count: its owner may take it again. A watchdog renews the lease while the sale runs, and a
 *   release is published, so that waiters need not ask again and again.
 * Holds while. The process lives and its event loop turns within the lease, and the Redis master keeps its data.
 * Breaks when. The holder is paused past the lease, or a replica without the key takes over. It says so, by `signal`.
 * Source. Redisson's RLock, commit 66863978 (August 2026): same keys, channel, latch and answers, so that a JVM with
 *   Redisson and this lock exclude each other on one Redis.
 */
import { randomUUID } from 'node:crypto';
import { checkpoint } from '../checkpoints.ts';
import type { Connections } from '../connections/connections.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { LockServiceUnavailable } from '../errors.ts';
import { type AcquireOptions, disposable, type Lease, type Lock, once, timedLease } from './lock.ts';
import { currentOwner } from './owner.ts';
import { keepUnlessAborted } from './waiting.ts';
import { wakeUps } from './wake-ups.ts';
import { type Watched, watchdog } from './watchdog.ts';

const acquireScript = loadScript('acquire-reentrant');
const releaseScript = loadScript('release-reentrant');
const renewScript = loadScript('renew-reentrant');
const released = '0';
const releaseTries = 3;

export function open(connections: Connections): Lock {
  const { LOCK_WATCHDOG_MS: watchdogMs, LOCK_ANSWER_MS: answerMs } = connections.config;
  const redis = connections.redis('lock');
  const subscribe = wakeUps(connections.redis('subscriber'));
  const client = randomUUID();
  const renew = async (key: string, owner: string) =>
    (await runScript(redis, renewScript, [key], [String(watchdogMs), owner])) === 1;
  const watch = watchdog(renew, watchdogMs);

  /** @returns the lease, or how long the present one lasts. */
  async function attempt(key: string, owner: string, leaseMs?: number): Promise<Lease | number> {
    const askedAt = performance.now();
    const giveBack = () => release(key, owner, leaseMs ?? watchdogMs);
    const wait = await runScript(redis, acquireScript, [key], [String(leaseMs ?? watchdogMs), owner]).catch(
      async (cause: unknown) => {
        await giveBack().catch(() => {}); // It may have been granted.
        throw new LockServiceUnavailable(key, 0, 1, cause);
      },
    );
    if (wait !== null) return Number(wait);
    if (leaseMs !== undefined) return timedLease(key, leaseMs - (performance.now() - askedAt), giveBack);
    return watchedLease(watch(key, owner, askedAt), giveBack);
  }

  /** A lost answer is asked for again under the same latch: it is one release, however often it is sent. */
  async function release(key: string, owner: string, leaseMs: number): Promise<void> {
    const keys = [
      key,
      tagged('redisson_lock__channel', key),
      `${tagged('redisson_unlock_latch', key)}:${randomUUID()}`,
    ];
    const args = [released, String(leaseMs), owner, String(answerMs * releaseTries * 2)];
    for (let tries = 1; ; tries++) {
      try {
        await runScript(redis, releaseScript, keys, args);
        return;
      } catch (error) {
        if (tries === releaseTries) throw error; // The lease ends by itself: nobody renews it any more.
      }
    }
  }

  async function acquire(
    resource: string,
    { waitMs, leaseMs, signal }: AcquireOptions,
  ): Promise<Lease | null> {
    const deadline = performance.now() + waitMs;
    const [key, owner] = [`lock:${resource}`, `${client}:${currentOwner()}`];
    signal?.throwIfAborted();
    const first = await attempt(key, owner, leaseMs);
    if (typeof first !== 'number') return keepUnlessAborted(first, signal);
    if (waitMs === 0) return null;
    await checkpoint('before-subscribe');
    const subscription = await subscribe(tagged('redisson_lock__channel', key));
    try {
      for (;;) {
        // Also right after subscribing: the release may have been published in between.
        const result = await attempt(key, owner, leaseMs);
        if (typeof result !== 'number') return await keepUnlessAborted(result, signal);
        const leftMs = deadline - performance.now();
        if (leftMs <= 0) return null;
        await subscription.woken(result >= 0 ? Math.min(result, leftMs) : leftMs, signal);
      }
    } finally {
      await subscription.close();
    }
  }

  return { reentrant: true, acquire };
}

/** Redisson's names: in braces, so that lock, channel and latch share a slot on Redis Cluster. */
const tagged = (prefix: string, key: string): string =>
  key.includes('{') ? `${prefix}:${key}` : `${prefix}:{${key}}`;

function watchedLease(watched: Watched, giveBack: () => Promise<void>): Lease {
  const release = once(async () => {
    watched.unwatch(); // Whether or not the release arrives: a lease that nobody renews ends.
    await giveBack();
  });
  return disposable({ signal: watched.signal, remainingMs: watched.remainingMs, release });
}
