/**
 * Whether a consumer of an order queue makes progress. Its connection says nothing about that: it
 * may be open and silent, or to a server that is not the master any more. So what the consumer did
 * is compared with what waits in the queue, as a new connection sees it.
 */
export class ConsumerProgress {
  #isTurning = false;
  #hasSettled = false;
  #isHandling = false;
  #hasFailed = false;
  #oldest: string | null | undefined;

  /** The queue answered the consumer. */
  turned(entries: number): void {
    this.#isTurning = true;
    if (entries > 0) this.#isHandling = true;
  }

  /** The consumer is done with its entries, or with none. */
  settled(entries: number): void {
    if (entries > 0) this.#hasSettled = true;
    else if (this.#isHandling) this.#hasFailed = true;
    this.#isHandling = false;
  }

  /** True while it has entries, or could not settle those that it had: that may take longer. */
  get isBusy(): boolean {
    return this.#isHandling || this.#hasFailed;
  }

  /**
   * @param oldest the entry that waits longest; null when none waits, undefined when that is not
   *   known.
   * @returns whether the consumer made progress since the last look.
   */
  look(oldest: string | null | undefined): boolean {
    const hasMoved = oldest !== undefined && oldest !== this.#oldest;
    const mayRest = oldest === null || (hasMoved && !this.isBusy); // Another one settles them.
    const isProgress = this.#hasSettled || (this.#isTurning && mayRest);
    if (isProgress) this.#hasFailed = false;
    this.#isTurning = false;
    this.#hasSettled = false;
    this.#oldest = oldest;
    return isProgress;
  }
}

/**
 * Whether MySQL has no space for an order, as the worker's own orders show it: a full MySQL takes
 * small changes of rows, so no probe does. Times are milliseconds of one clock.
 */
export class FullMysql {
  readonly #newsForMs: number;
  #seenAtMs: number | null = null;

  /** @param newsForMs after it without an answer, nothing is known: the worker may be stuck. */
  constructor(newsForMs: number) {
    this.#newsForMs = newsForMs;
  }

  /** MySQL has refused an order because it is full. */
  seen(nowMs: number): void {
    this.#seenAtMs = nowMs;
  }

  /** MySQL has recorded an order. */
  over(): void {
    this.#seenAtMs = null;
  }

  isLasting(nowMs: number): boolean {
    return this.#seenAtMs !== null && nowMs - this.#seenAtMs < this.#newsForMs;
  }
}
