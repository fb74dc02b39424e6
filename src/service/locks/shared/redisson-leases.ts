/**
 * What Redisson's locks have in common: an owner who may acquire again, a watchdog, and a release
 * that counts once however often it is sent. The scripts differ from lock to lock (Protocol), and
 * so does the waiting.
 */

import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { loadScript, runScript } from '../../connections/scripts.ts';
import { serviceError } from '../../errors.ts';
import { defaultAnswerMs, defaultKeyPrefix, type Lease, type RedisLockOptions } from '../lock.ts';
import { checkOptions } from './checked-options.ts';
import { inTime } from './deadlines.ts';
import { currentOwner, Turns } from './owner.ts';
import { type OwnedKey, Ownership, type Terms, Watchdog } from './ownership.ts';
import { awaitedTries, earlierConnections, releaseTries, untilReleased } from './server-lock.ts';

/** What a lock that renews its leases takes beside its client. */
export interface RedissonOptions extends Omit<RedisLockOptions, 'leaseMs'> {
  /** The lease of an acquire that names none, renewed every third of it; 30,000 ms without it. */
  readonly watchdogMs?: number;
}

/**
 * One release. `latch` names it, so that it can be sent again; `othersMs` is the lease of what the
 * owner still holds.
 */
export interface Release extends Pick<OwnedKey, 'key' | 'owner'> {
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
const maxReleases = 1_000;
/** How many answer times the latch stays when a release was sent more than once. */
const lateAnswers = 4;

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
  readonly #answerMs: number;
  readonly #client = randomUUID();
  /** By key and owner. */
  readonly #ownerships = new Map<string, Ownership>();
  /** The requests of one owner of a lock, so that the leases here match the count in Redis. */
  readonly #requests = new Turns();
  readonly #watchdog: Watchdog;

  constructor(redis: Redis, protocol: Protocol, options: RedissonOptions) {
    checkOptions(options);
    this.#redis = redis;
    earlierConnections(redis);
    this.#protocol = protocol;
    this.#keyPrefix = options.keyPrefix ?? defaultKeyPrefix;
    this.#answerMs = options.answerMs ?? defaultAnswerMs;
    this.#watchdog = new Watchdog(options.watchdogMs ?? 30_000, (each) =>
      this.#renew(each, this.#watchdog.timeoutMs),
    );
  }

  keyOf(resource: string): string {
    return this.#keyPrefix + resource;
  }

  /** The owner that is calling: an async context of this process. */
  owner(): string {
    return `${this.#client}:${currentOwner()}`;
  }

  /** @returns the lease, or how long the present one lasts, in milliseconds. */
  attempt({ resource, owner, leaseMs, waits }: Attempt): Promise<Lease | number> {
    const owned = { resource, key: this.keyOf(resource), owner };
    return this.#requests.inTurn(idOf(owned), () => this.#take(owned, waits, leaseMs));
  }

  async #take(owned: OwnedKey, waits: boolean, leaseMs?: number): Promise<Lease | number> {
    const { key, owner } = owned;
    const outer = this.#outer(owned);
    const terms = outer?.terms() ?? {
      leaseMs: leaseMs ?? this.#watchdog.timeoutMs,
      isRenewed: leaseMs === undefined,
    };
    const askedAt = performance.now();
    const take = () => this.#protocol.take(key, owner, String(terms.leaseMs), waits);
    const isSent = this.#redis.status === 'ready';
    const wait = await take().catch((error: unknown) => {
      // It may have been granted. A nested lease is released together with the outer one.
      if (isSent && !outer) this.#freeInTurn(owned).catch(() => {});
      throw error;
    });
    if (wait !== null) {
      outer?.isGone(); // Else Redis would have granted it again.
      return Number(wait);
    }
    const ownership = this.#ownerships.get(idOf(owned)) ?? this.#begin(owned, terms);
    ownership.validFrom(askedAt, terms.leaseMs);
    return ownership.lease(
      () => {
        const releasing = this.#requests.inTurn(idOf(owned), () => this.#release(ownership));
        return this.#soon(releasing);
      },
      (ms) => this.#requests.inTurn(idOf(owned), () => this.#change(ownership, ms)),
    );
  }

  async #change(ownership: Ownership, leaseMs: number): Promise<void> {
    // The key may be that of the owner's next lease, which does not end earlier by this.
    if (this.#ownerships.get(idOf(ownership.owned)) !== ownership) return ownership.isGone();
    const askedAt = performance.now();
    if (await this.#renew(ownership, leaseMs)) ownership.changed(askedAt, leaseMs);
    else ownership.isGone();
  }

  /** What the owner has already; a stalled event loop may not have noticed that it has expired. */
  #outer(owned: OwnedKey): Ownership | undefined {
    const outer = this.#ownerships.get(idOf(owned));
    if (outer?.remainingMs() !== 0) return outer;
    outer.expire();
    return undefined;
  }

  #begin(owned: OwnedKey, terms: Terms): Ownership {
    const id = idOf(owned);
    const ownership: Ownership = new Ownership(owned, terms, () => {
      this.#watchdog.unwatch(ownership);
      if (this.#ownerships.get(id) === ownership) this.#ownerships.delete(id);
    });
    this.#ownerships.set(id, ownership);
    if (terms.isRenewed) this.#watchdog.watch(ownership);
    return ownership;
  }

  async #renew({ owned: { key, owner } }: Ownership, leaseMs: number): Promise<boolean> {
    return (await runScript(this.#redis, renewScript, [key], [String(leaseMs), owner])) === 1;
  }

  async #release(ownership: Ownership): Promise<void> {
    if (ownership.isLost) return; // A lost lease has nothing to give back.
    const { owned } = ownership;
    // The last release ends the renewal first: if it does not arrive, the key expires.
    if (ownership.dropLease()) return this.#free(owned);
    const answer = await this.#giveBackOnce(owned, ownership.terms().leaseMs);
    if (answer !== 0) ownership.isGone(); // Redis counts no other lease of this owner.
  }

  /**
   * Returns after `awaitedTries` timeouts. The release goes on in the background, and the next
   * acquire of its owner waits for it.
   */
  async #soon(releasing: Promise<void>): Promise<void> {
    const mostMs = awaitedTries * this.#answerMs;
    const answer = await inTime(
      releasing.then(() => true),
      mostMs,
    );
    if (!answer) throw serviceError('DEADLINE_PASSED', 'an answer to the release', mostMs);
  }

  #freeInTurn(owned: OwnedKey): Promise<void> {
    return this.#requests.inTurn(idOf(owned), () => this.#free(owned));
  }

  /** Releases what Redis still counts of this owner; the bound ends it in any case. */
  async #free(owned: OwnedKey): Promise<void> {
    for (let releases = 0; releases < maxReleases; releases++)
      if ((await this.#giveBackOnce(owned, this.#watchdog.timeoutMs)) !== 0) return;
  }

  /** After a lost answer the release is sent again under the same latch, and still counts once. */
  async #giveBackOnce({ key, owner }: OwnedKey, othersMs: number): Promise<unknown> {
    const latch = `${tagged('redisson_unlock_latch', key)}:${randomUUID()}`;
    const latchMs = String(this.#answerMs * releaseTries * 2);
    const release = { key, owner, othersMs: String(othersMs), latch, latchMs };
    let sent = 0;
    const send = () => {
      sent += 1;
      return this.#protocol.giveBack(release);
    };
    // Without any answer the lease expires by itself: it is not renewed any more.
    const answer = await untilReleased(this.#redis, this.#answerMs, send);
    // An earlier copy may still be on its way, where its connection could not be ended.
    const stay = this.#answerMs * lateAnswers;
    const forget = sent === 1 ? this.#redis.del(latch) : this.#redis.pexpire(latch, stay);
    forget.catch(() => {});
    return answer;
  }
}

const idOf = ({ key, owner }: OwnedKey): string => `${key} ${owner}`;
