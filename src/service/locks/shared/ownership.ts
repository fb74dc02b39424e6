/**
 * What one owner has of one lock: its leases. In Redis they are one key with one expiry, so they
 * share one deadline and are lost together; the last release gives the lock back.
 */
import { LeaseLost } from '../../errors.ts';
import { onRenewalsDue } from '../../trace/renewals.ts';
import type { Lease } from '../lock.ts';
import { Alarm } from './deadlines.ts';
import { leaseOf } from './leases.ts';

/** The lock, its key, and the owner as Redis knows it. */
export interface OwnedKey {
  readonly resource: string;
  readonly key: string;
  readonly owner: string;
}

export interface Terms {
  /** How long Redis was asked to keep the lock, in milliseconds. */
  readonly leaseMs: number;
  /** True when the watchdog renews it. */
  readonly isRenewed: boolean;
}

const notRenewed =
  'Redis confirmed no renewal in time: it was down, or this process stood still (LOCK_WATCHDOG_MS)';
const notThere = 'Redis does not have it any more: its key was deleted, or Redis lost its data';

export class Ownership {
  readonly owned: OwnedKey;
  #terms: Terms;
  readonly #grantedAt = performance.now();
  readonly #lost = new AbortController();
  readonly #onEnd: () => void;
  #leases = 0;
  #validUntil = 0;
  readonly #expiry = new Alarm();

  /** `onEnd` is called once: at the last release, or when the lock is lost. */
  constructor(owned: OwnedKey, terms: Terms, onEnd: () => void) {
    this.owned = owned;
    this.#terms = terms;
    this.#onEnd = onEnd;
  }

  get isLost(): boolean {
    return this.#lost.signal.aborted;
  }

  remainingMs(): number {
    return this.isLost ? 0 : Math.max(0, this.#validUntil - performance.now());
  }

  /** The terms of a further acquire, and of what stays after a release: the deadline is kept. */
  terms(): Terms {
    const { isRenewed, leaseMs } = this.#terms;
    const leftMs = Math.max(1, Math.ceil(this.remainingMs())); // 0 would delete the key.
    return { isRenewed, leaseMs: isRenewed ? leaseMs : leftMs };
  }

  /** Valid for `leaseMs` from `since`, when Redis was asked. */
  validFrom(since: number, leaseMs: number): void {
    this.#validUntil = since + leaseMs;
    this.#expiry.set(
      () => this.remainingMs(),
      () => this.expire(),
    );
  }

  /** The owner asked Redis, at `since`, for another lease. */
  changed(since: number, leaseMs: number): void {
    this.#terms = { ...this.#terms, leaseMs };
    this.validFrom(since, leaseMs);
  }

  /** One lease more. */
  lease(giveBack: () => Promise<void>, renew: (leaseMs: number) => Promise<void>): Lease {
    this.#leases += 1;
    const parts = {
      signal: this.#lost.signal,
      remainingMs: () => this.remainingMs(),
      release: giveBack,
      renew,
    };
    return leaseOf(parts, () => this.#expired());
  }

  /** One lease less. @returns true when it was the last */
  dropLease(): boolean {
    this.#leases -= 1;
    if (this.#leases === 0) this.#end();
    return this.#leases === 0;
  }

  expire(): void {
    this.#lose(this.#expired());
  }

  /** Redis answered that the owner does not have the lock. */
  isGone(): void {
    this.#lose(this.#lostError(performance.now() - this.#grantedAt, notThere));
  }

  #expired(): LeaseLost {
    const { isRenewed, leaseMs } = this.#terms;
    return isRenewed
      ? this.#lostError(performance.now() - this.#grantedAt, notRenewed)
      : this.#lostError(leaseMs);
  }

  #lostError(afterMs: number, advice?: string): LeaseLost {
    return new LeaseLost(this.owned.resource, Math.round(afterMs), advice);
  }

  #lose(error: LeaseLost): void {
    this.#lost.abort(error);
    this.#end();
  }

  #end(): void {
    this.#expiry.clear();
    this.#onEnd();
  }
}

/**
 * True when the lock was renewed, false when the owner does not have it any more; throws when Redis
 * did not answer.
 */
type Renew = (ownership: Ownership) => Promise<boolean>;

/**
 * Renews what owners hold for as long as they work: each third of `timeoutMs`, with one timer for
 * all; it stops at the first round with nothing to renew.
 */
export class Watchdog {
  readonly timeoutMs: number;
  readonly #renew: Renew;
  readonly #watched = new Set<Ownership>();
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number, renew: Renew) {
    this.timeoutMs = timeoutMs;
    this.#renew = renew;
    onRenewalsDue(() => this.#renewAll());
  }

  watch(ownership: Ownership): void {
    this.#watched.add(ownership);
    this.#timer ??= setInterval(() => this.#renewAll(), this.timeoutMs / 3).unref();
  }

  unwatch(ownership: Ownership): void {
    this.#watched.delete(ownership);
  }

  #renewAll(): void {
    for (const ownership of this.#watched) void this.#renewOne(ownership);
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer); // Not at the last release: the next lease may come at once.
    this.#timer = undefined;
  }

  async #renewOne(ownership: Ownership): Promise<void> {
    const askedAt = performance.now();
    // No answer: the next round asks again.
    const isRenewed = await this.#renew(ownership).catch(() => null);
    if (!this.#watched.has(ownership)) return;
    if (isRenewed === true) ownership.validFrom(askedAt, this.timeoutMs);
    if (isRenewed === false) ownership.isGone();
  }
}
