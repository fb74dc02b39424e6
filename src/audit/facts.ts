/** What is known after a run. The checks read this and nothing else, so a test can write facts by hand. */

import type { RefusalReason } from '../domain.ts';
import type { HistoryEvent } from '../history.ts';

/** What one HTTP request of a client came to. */
export interface Attempt {
  readonly userId: string;
  readonly requestId: string;
  readonly outcome: 'accepted' | 'refused' | 'unknown';
  /** Why it was refused, or what went wrong where the outcome is unknown. */
  readonly reason?: RefusalReason | string;
  readonly orderId?: string;
  readonly latencyMs: number;
  /** How often an optimistic sale was tried until it won. */
  readonly tries?: number;
  readonly instance?: string;
}

export interface OrderRow {
  readonly id: string;
  readonly userId: string;
  readonly status: 'confirmed' | 'failed';
  readonly reason: string | null;
}

export interface Facts {
  readonly voucherId: string;
  /** When the voucher was made; with its id, it is this voucher and no other. */
  readonly createdAt: string;
  readonly rung: string;
  /** Whether the rung promises one order per user. */
  readonly onePerUser: boolean;
  /** Whether the rung has a lock that is meant to exclude. */
  readonly locked: boolean;
  readonly initialStock: number;
  readonly mysql: { readonly stock: number; readonly orders: readonly OrderRow[] };
  /** Present where the rung keeps its stock in Redis. */
  readonly redis?: {
    /** null when Redis has lost the voucher. */
    readonly stock: number | null;
    /** user id → order id */
    readonly buyers: Readonly<Record<string, string>>;
    /** Orders of this voucher that are not yet in MySQL. */
    readonly queued: readonly string[];
  };
  /** What every process did, in order; present where it was kept. */
  readonly history?: readonly HistoryEvent[];
  /** Present where every client's answer was kept. */
  readonly attempts?: readonly Attempt[];
}

export const confirmed = (facts: Facts): OrderRow[] =>
  facts.mysql.orders.filter(({ status }) => status === 'confirmed');

export function usersWithSeveralOrders(facts: Facts): number {
  const seen = new Set<string>();
  return new Set(
    confirmed(facts).flatMap(({ userId }) => (seen.has(userId) || !seen.add(userId) ? [userId] : [])),
  ).size;
}
