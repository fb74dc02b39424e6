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
import { whenReady } from '../connections/redis.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { LockServiceUnavailable } from '../errors.ts';
import { type AcquireOptions, disposable, type Lease, type Lock, once, timedLease } from './lock.ts';
import { currentOwner } from './owner.ts';
import { Holds } from './re-entry.ts';
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
  const holds = new Holds();
  const renew = async (key: string, owner: string) =>
    (await runScript(redis, renewScript, [key], [String(watchdogMs), owner])) === 1;
  const watch = watchdog(renew, watchdogMs);

  /** @returns the lease, or how long the present one lasts. */
  async function attempt(key: string, owner: string, leaseMs?: number): Promise<Lease | number> {
    const [id, askedAt] = [`${key} ${owner}`, performance.now()];
    const outerMs = holds.longestMs(id); // Taken once more, the lock lasts as long as the longest of its leases.
    const lastsMs = String(Math.max(leaseMs ?? watchdogMs, outerMs));
    const isSent = redis.status === 'ready';
    const wait = await runScript(redis, acquireScript, [key], [lastsMs, owner]).catch(
      async (cause: unknown) => {
        // It may have been granted. Given back inside another hold, it could be the other that ends.
        if (isSent && outerMs === 0) await release(key, owner, lastsMs).catch(() => {});
        throw new LockServiceUnavailable(key, 0, 1, cause);
      },
    );
    if (wait !== null) return Number(wait);
    const giveBack = async () => {
      holds.remove(id, lease);
      const othersMs = Math.max(leaseMs ?? watchdogMs, holds.longestMs(id));
      if (!lease.signal.aborted) await release(key, owner, String(othersMs));
    };
    const lease =
      leaseMs === undefined
        ? watchedLease(watch(key, owner, askedAt), giveBack)
        : timedLease(key, leaseMs - (performance.now() - askedAt), giveBack);
    holds.add(id, lease);
    return lease;
  }

  /** A lost answer is asked for again under the same latch: it is one release, however often it is sent. */
  async function release(key: string, owner: string, othersMs: string): Promise<void> {
    const latch = `${tagged('redisson_unlock_latch', key)}:${randomUUID()}`;
    const keys = [key, tagged('redisson_lock__channel', key), latch];
    const args = [released, othersMs, owner, String(answerMs * releaseTries * 2)];
    for (let tries = 1; ; tries++) {
      try {
        await runScript(redis, releaseScript, keys, args);
        return void redis.del(latch).catch(() => {}); // Nobody asks again; else it ends by itself.
      } catch (error) {
        if (tries === releaseTries) throw error; // The lease ends by itself: nobody renews it any more.
        await whenReady(redis, answerMs); // The answer was lost with its connection: there will be another.
      }
    }
  }

  async function acquire(
    resource: string,
    { waitMs, leaseMs, signal }: AcquireOptions,
  ): Promise<Lease | null> {
    const deadline = performance.now() + waitMs;
    const leftMs = () => Math.max(0, deadline - performance.now());
    const [key, owner] = [`lock:${resource}`, `${client}:${currentOwner()}`];
    signal?.throwIfAborted();
    const first = await attempt(key, owner, leaseMs);
    if (typeof first !== 'number') return keepUnlessAborted(first, signal);
    if (waitMs === 0) return null;
    await checkpoint('before-subscribe');
    const subscription = subscribe(tagged('redisson_lock__channel', key));
    try {
      if (!(await subscription.listening(leftMs(), signal))) return null;
      for (;;) {
        // Also right after subscribing: the release may have been published in between.
        const result = await attempt(key, owner, leaseMs);
        if (typeof result !== 'number') return await keepUnlessAborted(result, signal);
        if (leftMs() === 0) return null;
        await subscription.woken(result >= 0 ? Math.min(result, leftMs()) : leftMs(), signal);
      }
    } catch (error) {
      subscription.passOn(); // It may have been called, and did nothing with it.
      throw error;
    } finally {
      subscription.close();
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
