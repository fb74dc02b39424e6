/**
 * What Redisson's locks have in common: an owner who may acquire again, a watchdog, and a release
 * that counts once however often it is sent. The scripts differ from lock to lock (Protocol), and
 * so does the waiting.
 */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { untilAnswered } from '../../connections/redis.ts';
import { loadScript, runScript } from '../../connections/scripts.ts';
import { LockServiceUnavailable } from '../../errors.ts';
import { defaultKeyPrefix, type Lease, type RedisLockOptions } from '../lock.ts';
import { leaseOf, once, timedLease } from './leases.ts';
import { currentOwner } from './owner.ts';
import { ReentrantLeases } from './reentrant-leases.ts';
import { notRenewed, type Watched, watchdog } from './watchdog.ts';

export interface RedissonOptions extends Omit<RedisLockOptions, 'leaseMs'> {
  /** The lease of an acquire that names none, renewed every third of it; 30,000 ms without it. */
  readonly watchdogMs?: number;
  /** How long one answer of Redis may take before a release is sent again; 500 ms without it. */
  readonly answerMs?: number;
}

/**
 * One release. `latch` names it, so that it can be sent again; `othersMs` is the lease of what the
 * owner still holds.
 */
export interface Release {
  readonly key: string;
  readonly owner: string;
  readonly othersMs: string;
  readonly latch: string;
  readonly latchMs: string;
}

export interface Protocol {
  /**
   * `waits`: the caller will wait when another owner has the lock.
   * @returns null when it is granted, else how long the present lease lasts, in milliseconds (-1:
   * without end).
   */
  take(key: string, owner: string, leaseMs: string, waits: boolean): Promise<unknown>;
  /** @returns 0 when the owner still holds it. */
  giveBack(release: Release): Promise<unknown>;
}

export interface Attempt {
  readonly resource: string;
  readonly owner: string;
  readonly leaseMs?: number | undefined;
  readonly waits: boolean;
}

const acquireScript = loadScript('locks/acquire-reentrant');
const releaseScript = loadScript('locks/release-reentrant');
const renewScript = loadScript('locks/renew-reentrant');
/** The message that a release publishes. */
export const releaseMessage = '0';
const releaseTries = 3;
const maxReleases = 1_000;

/** Redisson's names: in braces, so that all keys of a lock share a slot on Redis Cluster. */
export const tagged = (prefix: string, key: string): string =>
  key.includes('{') ? `${prefix}:${key}` : `${prefix}:{${key}}`;

export const channelOf = (key: string): string => tagged('redisson_lock__channel', key);

/** The hash of owner → count. Every release is published. */
export const hashProtocol = (redis: Redis): Protocol => ({
  take: (key, owner, leaseMs) => runScript(redis, acquireScript, [key], [leaseMs, owner]),
  giveBack: ({ key, owner, othersMs, latch, latchMs }) => {
    const keys = [key, channelOf(key), latch];
    return runScript(redis, releaseScript, keys, [releaseMessage, othersMs, owner, latchMs]);
  },
});

export class RedissonLeases {
  readonly #redis: Redis;
  readonly #protocol: Protocol;
  readonly #keyPrefix: string;
  readonly #watchdogMs: number;
  readonly #answerMs: number;
  readonly #client = randomUUID();
  readonly #leases = new ReentrantLeases();
  readonly #watch: ReturnType<typeof watchdog>;

  constructor(redis: Redis, protocol: Protocol, options: RedissonOptions) {
    this.#redis = redis;
    this.#protocol = protocol;
    this.#keyPrefix = options.keyPrefix ?? defaultKeyPrefix;
    this.#watchdogMs = options.watchdogMs ?? 30_000;
    this.#answerMs = options.answerMs ?? 500;
    this.#watch = watchdog((key, owner) => this.#renew(key, owner), this.#watchdogMs);
  }

  keyOf(resource: string): string {
    return this.#keyPrefix + resource;
  }

  /** The owner that is calling: an async context of this process. */
  owner(): string {
    return `${this.#client}:${currentOwner()}`;
  }

  /** @returns the lease, or how long the present one lasts, in milliseconds. */
  attempt(wanted: Attempt): Promise<Lease | number> {
    const id = `${this.keyOf(wanted.resource)} ${wanted.owner}`;
    return this.#leases.inTurn(id, () => this.#take(wanted));
  }

  async #take({ resource, owner, leaseMs, waits }: Attempt): Promise<Lease | number> {
    const key = this.keyOf(resource);
    const id = `${key} ${owner}`;
    const askedAt = performance.now();
    // A nested lease lasts as long as the longest of its owner's leases.
    const outerMs = this.#leases.longestMs(id);
    const newLeaseMs = String(Math.max(leaseMs ?? this.#watchdogMs, outerMs));
    const isSent = this.#redis.status === 'ready';
    const taking = this.#protocol.take(key, owner, newLeaseMs, waits);
    const wait = await taking.catch(async (cause: unknown) => {
      // It may have been granted. A nested lease is released together with the outer one.
      if (isSent && outerMs === 0) await this.#free(key, owner).catch(() => {});
      throw new LockServiceUnavailable(resource, 0, 1, cause);
    });
    if (wait !== null) return Number(wait);
    const giveBack = (): Promise<void> =>
      this.#leases.inTurn(id, () => this.#release(key, owner, lease, leaseMs));
    const lost = leaseMs === undefined ? undefined : new AbortController();
    const lease: Lease =
      leaseMs === undefined
        ? watchedLease(this.#watch(key, owner, askedAt), giveBack)
        : timedLease(resource, leaseMs - (performance.now() - askedAt), giveBack, lost);
    this.#leases.add(id, lease, lost);
    return lease;
  }

  async #renew(key: string, owner: string): Promise<boolean> {
    const id = `${key} ${owner}`;
    const leaseMs = String(Math.max(this.#watchdogMs, this.#leases.longestMs(id)));
    const isHeld = (await runScript(this.#redis, renewScript, [key], [leaseMs, owner])) === 1;
    if (!isHeld) this.#leases.loseAll(id, () => notRenewed(key, this.#watchdogMs));
    return isHeld;
  }

  async #release(key: string, owner: string, lease: Lease, leaseMs?: number): Promise<void> {
    const id = `${key} ${owner}`;
    // A lost lease has nothing to give back. A nested lease that expired is released with the
    // outer one.
    if (!this.#leases.remove(id, lease) || lease.signal.aborted) return;
    const othersMs = this.#leases.longestMs(id);
    if (othersMs === 0) await this.#free(key, owner);
    else await this.#giveBackOnce(key, owner, Math.max(leaseMs ?? this.#watchdogMs, othersMs));
  }

  /** Releases whatever Redis still counts of this owner; a count above the bound is not ours. */
  async #free(key: string, owner: string): Promise<void> {
    for (let releases = 0; releases < maxReleases; releases++)
      if ((await this.#giveBackOnce(key, owner, this.#watchdogMs)) !== 0) return;
  }

  /** After a lost answer the release is sent again under the same latch, and still counts once. */
  async #giveBackOnce(key: string, owner: string, othersMs: number): Promise<unknown> {
    const latch = `${tagged('redisson_unlock_latch', key)}:${randomUUID()}`;
    const latchMs = String(this.#answerMs * releaseTries * 2);
    const release = { key, owner, othersMs: String(othersMs), latch, latchMs };
    const send = () => this.#protocol.giveBack(release);
    // Without any answer the lease expires by itself: it is not renewed any more.
    const answer = await untilAnswered(this.#redis, releaseTries, this.#answerMs, send);
    this.#redis.del(latch).catch(() => {}); // If this fails, the latch expires.
    return answer;
  }
}

function watchedLease(watched: Watched, giveBack: () => Promise<void>): Lease {
  const release = once(async () => {
    // First: even if the release does not arrive, a lease that is not renewed expires.
    watched.unwatch();
    await giveBack();
  });
  const { signal, remainingMs, lostError } = watched;
  return leaseOf({ signal, remainingMs, release }, lostError);
}
