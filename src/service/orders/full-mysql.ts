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
