/** Renews what owners hold for as long as they work, and tells them when it is lost. */
import type { Ownership } from './ownership.ts';

/**
 * True when the lock was renewed, false when the owner does not have it any more; throws when Redis
 * did not answer.
 */
export type Renew = (ownership: Ownership) => Promise<boolean>;

/**
 * Renews each third of `timeoutMs`, with one timer for all; it stops at the first round with
 * nothing to renew.
 */
export class Watchdog {
  readonly timeoutMs: number;
  readonly #renew: Renew;
  readonly #watched = new Set<Ownership>();
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number, renew: Renew) {
    this.timeoutMs = timeoutMs;
    this.#renew = renew;
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
