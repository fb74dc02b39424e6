/** The contract of every queue of accepted orders, on their way into MySQL. */
import type { Connections } from '../connections/connections.ts';
import type { Order } from '../domain.ts';

/** One hand-over of an order; many deliveries can mean one order. */
export interface Delivery {
  readonly order: Order;
  /** 1 at first, then one more each time the order is handed over. */
  readonly attempt: number;
}

/** Settles what it can; the orders whose ids it does not return are delivered again. */
export type Handle = (deliveries: readonly Delivery[]) => Promise<ReadonlySet<string>>;

export interface OrderQueue {
  /** Resolves once the queue, by its own standard, owns the order. */
  publish(order: Order): Promise<void>;
  /** Hands orders to `handle`, a batch at a time, until `signal` aborts; then finishes the batch in hand and resolves. */
  consume(handle: Handle, signal: AbortSignal): Promise<void>;
  /** How many orders the queue owns that nobody has settled. */
  depth(): Promise<number>;
}

/** What every file in this folder exports. */
export interface QueueModule {
  open(connections: Connections): OrderQueue;
}
