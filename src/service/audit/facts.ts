/**
 * The facts about one voucher after a run. The checks read nothing else, so a test can write facts
 * by hand.
 */
import type { RefusalReason } from '../domain.ts';
import type { HistoryEvent } from '../trace/history.ts';

/** One HTTP request of a client, and its answer. */
export interface Attempt {
  readonly userId: string;
  readonly requestId: string;
  readonly outcome: 'accepted' | 'refused' | 'unknown';
  /** Why it was refused, or the error when the outcome is unknown. */
  readonly reason?: RefusalReason | string;
  readonly orderId?: string;
  readonly latencyMs: number;
  /** When the request was sent and answered, in nanoseconds of the clock of the history. */
  readonly sentAt?: string;
  readonly answeredAt?: string;
  /** How often an optimistic sale was tried until it was accepted. */
  readonly tries?: number;
  readonly instance?: string;
}

export interface OrderRow {
  readonly id: string;
  readonly userId: string;
  readonly status: 'confirmed' | 'failed';
  readonly reason: string | null;
  /** The dead-lettered order that an operator replayed as this one. */
  readonly replayOf?: string | null;
}

export interface Facts {
  readonly voucherId: string;
  /** When the voucher was created; with its id, it is this voucher and no other. */
  readonly createdAt: string;
  readonly rung: string;
  /** Whether the rung promises one order per user. */
  readonly onePerUser: boolean;
  /** Whether the rung has a lock that should exclude others. */
  readonly locked: boolean;
  readonly initialStock: number;
  /** Each stock that the voucher had, when an operator has changed it. */
  readonly stocks?: readonly number[];
  readonly mysql: {
    /** Where the rung has a row per unit, the units that are not sold. */
    readonly stock: number;
    readonly orders: readonly OrderRow[];
    /** The number of confirmed orders, where `orders` does not have them (collect-in-parts.ts). */
    readonly sold?: number;
    /** The order of each sold unit; present where the rung has a row per unit. */
    readonly unitOrders?: readonly string[];
  };
  /** Present where the rung keeps the stock in Redis. */
  readonly redis?: {
    /** null when Redis does not have the voucher. */
    readonly stock: number | null;
    /** User id → order id; absent where the rung keeps its buyers in MySQL only. */
    readonly buyers?: Readonly<Record<string, string>>;
    /** Orders of this voucher that are not yet in MySQL. */
    readonly queued: readonly string[];
    /** True when Redis changed while the facts were read: the sale is running. */
    readonly isMoving?: boolean;
  };
  /** The events of every process, in order; present where they were kept. */
  readonly history?: readonly HistoryEvent[];
  /** True when an event could not be written. */
  readonly historyHasGap?: boolean;
  /** Present where the answers to the clients were kept. */
  readonly attempts?: readonly Attempt[];
}

export const confirmed = (facts: Facts): OrderRow[] =>
  facts.mysql.orders.filter(({ status }) => status === 'confirmed');

/** From the order of a replay to the one that its user was told of. Any other order is its own. */
export function firstOrderOf({ mysql }: Facts): (id: string) => string {
  const earlier = new Map(mysql.orders.map(({ id, replayOf }) => [id, replayOf]));
  return (id) => {
    let first = id;
    for (let next = earlier.get(id); next; next = earlier.get(next)) first = next;
    return first;
  };
}

export function usersWithSeveralOrders(facts: Facts): number {
  const byUser = Map.groupBy(confirmed(facts), ({ userId }) => userId);
  return [...byUser.values()].filter((orders) => orders.length > 1).length;
}
