/** What makes order ids: 64-bit, unique over all processes, as decimal strings. docs/order-ids.md compares the makers. */
export interface OrderIds {
  /**
   * Not a promise where nothing has to be waited for: the hot path of a purchase then costs no turn of the event loop.
   * @throws OrderIdUnavailable, and no id is used.
   */
  next(): string | Promise<string>;
  close(): void;
}
