/** The contract of every queue of accepted orders, on their way into MySQL. */
import type { Order } from '../domain.ts';

/** One hand-over of an order; many deliveries can mean one order. */
export interface Delivery {
  readonly order: Order;
  /** 1 at first, then one more at each delivery of the same order. */
  readonly attempt: number;
}

/** @returns the ids of the orders that it settled; the queue delivers the others again. */
export type Handle = (deliveries: readonly Delivery[]) => Promise<ReadonlySet<string>>;

/** An entry that is not an order: one of its fields is missing or has a wrong form. */
export interface Poison {
  /** The first field that is wrong, such as `userId is not an id`. */
  readonly cause: string;
  /** The entry's own order id, which may be the field that is wrong. */
  readonly orderId: string | undefined;
  /** What the queue noted about this order id when it was accepted. */
  readonly noted: Pick<Order, 'voucherId' | 'userId'> | undefined;
}

/**
 * Called before a poison entry is moved to the dead letters, perhaps more than once.
 * @returns false when that must wait; the queue delivers the entry again.
 */
export type Discard = (poison: Poison) => Promise<boolean>;

/**
 * Called with the number of a consumer each time that the queue answered it, with orders or
 * without: a consumer that does not turn is stuck.
 */
export type OnTurn = (consumer: number) => void;

/** What a queue calls beside `Handle`. */
export interface Hooks {
  readonly discard?: Discard;
  readonly onTurn?: OnTurn;
}

export interface OrderQueue {
  /** Resolves once the queue, by its own standard, owns the order. */
  publish(order: Order): Promise<void>;
  /**
   * Delivers batches to `handle` until `signal` aborts; then finishes the batch in hand and
   * resolves. A queue that can have poison entries gives them to `discard`.
   */
  consume(handle: Handle, signal: AbortSignal, hooks?: Hooks): Promise<void>;
  /** How many orders the queue owns that are not settled. */
  depth(): Promise<number>;
}
