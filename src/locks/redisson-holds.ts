/**
 * What Redisson's locks have in common: an owner who may hold again, a watchdog, and a release that is one however often
 * it is sent. How a lock is asked for and given back is each one's own, and so is the waiting.
 */
import { randomUUID } from 'node:crypto';
import type { Connections } from '../connections/connections.ts';
import { untilAnswered } from '../connections/redis.ts';
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
  /**
   * `waits`: whether who does not get it will wait for it.
   * @returns null when it is granted, else how long the present lease lasts, in milliseconds (-1: without end).
   */
  take(key: string, owner: string, lastsMs: string, waits: boolean): Promise<unknown>;
  /** @returns 0 when the owner still holds it. */
  giveBack(release: Release): Promise<unknown>;
}

export interface Attempt {
  readonly key: string;
  readonly owner: string;
  readonly leaseMs?: number | undefined;
  readonly waits: boolean;
}

const acquireScript = loadScript('acquire-reentrant');
const releaseScript = loadScript('release-reentrant');
const renewScript = loadScript('renew-reentrant');
/** What a release publishes. */
export const released = '0';
const releaseTries = 3;

/** Redisson's names: in braces, so that what belongs to a lock shares its slot on Redis Cluster. */
export const tagged = (prefix: string, key: string): string =>
  key.includes('{') ? `${prefix}:${key}` : `${prefix}:{${key}}`;

export const channelOf = (key: string): string => tagged('redisson_lock__channel', key);

/** The hash of owner → count; a release is published, whether or not anybody listens. */
export function hashProtocol(connections: Connections): Protocol {
  const redis = connections.redis('lock');
  return {
    take: (key, owner, lastsMs) => runScript(redis, acquireScript, [key], [lastsMs, owner]),
    giveBack: ({ key, owner, othersMs, latch, latchMs }) =>
      runScript(redis, releaseScript, [key, channelOf(key), latch], [released, othersMs, owner, latchMs]),
  };
}

export function redissonHolds(connections: Connections, protocol: Protocol) {
  const { LOCK_WATCHDOG_MS: watchdogMs, LOCK_ANSWER_MS: answerMs } = connections.config;
  const redis = connections.redis('lock');
  const client = randomUUID();
  const holds = new Holds();
  const watch = watchdog(renew, watchdogMs);

  async function renew(key: string, owner: string): Promise<boolean> {
    const id = `${key} ${owner}`;
    const lastsMs = String(Math.max(watchdogMs, holds.longestMs(id)));
    const isHeld = (await runScript(redis, renewScript, [key], [lastsMs, owner])) === 1;
    if (!isHeld) holds.loseAll(id, key, watchdogMs);
    return isHeld;
  }

  /** @returns the lease, or how long the present one lasts. */
  const attempt = (wanted: Attempt): Promise<Lease | number> =>
    holds.inTurn(`${wanted.key} ${wanted.owner}`, () => take(wanted));

  async function take({ key, owner, leaseMs, waits }: Attempt): Promise<Lease | number> {
    const [id, askedAt] = [`${key} ${owner}`, performance.now()];
    const outerMs = holds.longestMs(id); // Taken once more, the lock lasts as long as the longest of its leases.
    const lastsMs = String(Math.max(leaseMs ?? watchdogMs, outerMs));
    const isSent = redis.status === 'ready';
    const wait = await protocol.take(key, owner, lastsMs, waits).catch(async (cause: unknown) => {
      // It may have been granted. Inside another hold, the release of that one gives this one back too.
      if (isSent && outerMs === 0) await free(key, owner).catch(() => {});
      throw new LockServiceUnavailable(key, 0, 1, cause);
    });
    if (wait !== null) return Number(wait);
    const giveBack = (): Promise<void> => holds.inTurn(id, () => release(key, owner, lease, leaseMs));
    const lost = leaseMs === undefined ? undefined : new AbortController();
    const lease: Lease =
      leaseMs === undefined
        ? watchedLease(watch(key, owner, askedAt), giveBack)
        : timedLease(key, leaseMs - (performance.now() - askedAt), giveBack, lost);
    holds.add(id, lease, lost);
    return lease;
  }

  async function release(key: string, owner: string, lease: Lease, leaseMs?: number): Promise<void> {
    const id = `${key} ${owner}`;
    // What was lost is not there to be given back; a lease that ended inside another goes with the other.
    if (!holds.remove(id, lease) || lease.signal.aborted) return;
    const othersMs = holds.longestMs(id);
    if (othersMs === 0) await free(key, owner);
    else await giveBackOnce(key, owner, Math.max(leaseMs ?? watchdogMs, othersMs));
  }

  /** The last one out: whatever Redis still counts of this owner, it holds nothing any more. */
  async function free(key: string, owner: string): Promise<void> {
    while ((await giveBackOnce(key, owner, watchdogMs)) === 0);
  }

  /** A lost answer is asked for again under the same latch: it is one release, however often it is sent. */
  async function giveBackOnce(key: string, owner: string, othersMs: number): Promise<unknown> {
    const latch = `${tagged('redisson_unlock_latch', key)}:${randomUUID()}`;
    const latchMs = String(answerMs * releaseTries * 2);
    const words = { key, owner, othersMs: String(othersMs), latch, latchMs };
    // Without any answer the lease ends by itself: nobody renews it any more.
    const answer = await untilAnswered(redis, releaseTries, answerMs, () => protocol.giveBack(words));
    redis.del(latch).catch(() => {}); // Nobody asks again; else it ends by itself.
    return answer;
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
