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

/** What a queue calls beside `Handle`. A consumer has a number, from 0. */
export interface Hooks {
  readonly discard?: Discard;
  /** The queue answered a consumer, with this number of entries. */
  readonly onTurn?: (consumer: number, entries: number) => void;
  /** A consumer's entries are done: the number that is settled, and so acknowledged. */
  readonly onSettled?: (consumer: number, entries: number) => void;
  /** A consumer met an error, and goes on. The queue may not call it. */
  readonly onError?: (error: unknown) => void;
}

/** Leaves the place, used or not. */
export type Leave = () => void;

type Reservation = Leave | 'queue-full' | 'not-ready';

export interface OrderQueue {
  /**
   * A place for one order, or why there is none. Asked before stock is taken. A queue without it
   * has no bound of its own.
   */
  reserve?(): Reservation | Promise<Reservation>;
  /**
   * Resolves once the queue, by its own standard, owns the order.
   * @throws ORDER_NOT_QUEUED or QUEUE_FULL when it does not have the order; after any other error
   *   it may have it.
   */
  publish(order: Order): Promise<void>;
  /**
   * Delivers batches to `handle` until `signal` aborts; then finishes the batch in hand and
   * resolves. A queue that can have poison entries gives them to `discard`.
   */
  consume(handle: Handle, signal: AbortSignal, hooks?: Hooks): Promise<void>;
  /**
   * True: what a consumer did not settle stays in Redis, and is delivered again. So a worker may
   * drop it, as it must when Redis is rebuilt.
   */
  readonly keepsUnsettled?: true;
  /** How many orders the queue owns that are not settled. */
  depth(): Promise<number>;
  /** True: `depth` leaves out those that a consumer was given; the queue does not count them. */
  readonly isInHandUncounted?: true;
  /** The number that consumers were given; missing where the queue does not say it. */
  inHand?(): Promise<number>;
  /**
   * For each consumer: the entry that waits longest to be settled, or null. Its name may change
   * when it is delivered again, which is movement too. A queue that has it calls the hooks, and its
   * consumers are watched: one without progress is replaced.
   */
  oldest?(): Promise<readonly (string | null)[]>;
}
