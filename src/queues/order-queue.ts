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

/**
 * Called with the number of a consumer each time that the queue answered it, with orders or
 * without: a consumer that does not turn is stuck.
 */
export type OnTurn = (consumer: number) => void;

export interface OrderQueue {
  /** Resolves once the queue, by its own standard, owns the order. */
  publish(order: Order): Promise<void>;
  /**
   * Delivers batches to `handle` until `signal` aborts; then finishes the batch in hand and
   * resolves.
   */
  consume(handle: Handle, signal: AbortSignal, onTurn?: OnTurn): Promise<void>;
  /** How many orders the queue owns that are not settled. */
  depth(): Promise<number>;
}
