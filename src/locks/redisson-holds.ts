/**
 * What Redisson's locks have in common: an owner who may hold again, a watchdog, and a release that is one however often
 * it is sent. How a lock is asked for and given back is each one's own, and so is the waiting.
 */
import { randomUUID } from 'node:crypto';
import type { Connections } from '../connections/connections.ts';
import { whenReady } from '../connections/redis.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { LockServiceUnavailable } from '../errors.ts';
import { disposable, type Lease, once, timedLease } from './lock.ts';
import { currentOwner } from './owner.ts';
import { Holds } from './re-entry.ts';
import { type Watched, watchdog } from './watchdog.ts';

/** What a release says. `latch` names it, so that it can be sent again; `othersMs` is for what its owner still holds. */
export interface Release {
  readonly key: string;
  readonly owner: string;
  readonly othersMs: string;
  readonly latch: string;
  readonly latchMs: string;
}

export interface Protocol {
  /** @returns null when it is granted, else how long the present lease lasts, in milliseconds (-1: without end). */
  take(key: string, owner: string, lastsMs: string): Promise<unknown>;
  giveBack(release: Release): Promise<unknown>;
}

const renewScript = loadScript('renew-reentrant');
const releaseTries = 3;

/** Redisson's names: in braces, so that what belongs to a lock shares its slot on Redis Cluster. */
export const tagged = (prefix: string, key: string): string =>
  key.includes('{') ? `${prefix}:${key}` : `${prefix}:{${key}}`;

export function redissonHolds(connections: Connections, protocol: Protocol) {
  const { LOCK_WATCHDOG_MS: watchdogMs, LOCK_ANSWER_MS: answerMs } = connections.config;
  const redis = connections.redis('lock');
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
    const wait = await protocol.take(key, owner, lastsMs).catch(async (cause: unknown) => {
      // It may have been granted. Given back inside another hold, it could be the other that ends.
      if (isSent && outerMs === 0) await release(key, owner, lastsMs).catch(() => {});
      throw new LockServiceUnavailable(key, 0, 1, cause);
    });
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
    const latchMs = String(answerMs * releaseTries * 2);
    for (let tries = 1; ; tries++) {
      try {
        await protocol.giveBack({ key, owner, othersMs, latch, latchMs });
        return void redis.del(latch).catch(() => {}); // Nobody asks again; else it ends by itself.
      } catch (error) {
        if (tries === releaseTries) throw error; // The lease ends by itself: nobody renews it any more.
        await whenReady(redis, answerMs); // The answer was lost with its connection: there will be another.
      }
    }
  }

  /** Of whoever calls: an async context of this process. */
  const owner = () => `${client}:${currentOwner()}`;
  return { attempt, owner };
}

function watchedLease(watched: Watched, giveBack: () => Promise<void>): Lease {
  const release = once(async () => {
    watched.unwatch(); // Whether or not the release arrives: a lease that nobody renews ends.
    await giveBack();
  });
  return disposable({ signal: watched.signal, remainingMs: watched.remainingMs, release });
}
