/**
 * The contract of a generator of order ids: 64 bits, unique over all processes, as decimal strings.
 * docs/design.md compares the generators.
 */
export interface OrderIds {
  /**
   * A string, not a promise, where there is nothing to wait for: a purchase then costs no extra
   * turn of the event loop.
   * @throws one of noOrderIdCodes, and no id is used.
   */
  next(): string | Promise<string>;
  /** Why `next` would throw now, as a sentence; null when nothing is known against it. */
  problem(): string | null;
  close(): void;
}
