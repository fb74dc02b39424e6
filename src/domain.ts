/**
 * The words that every folder shares. Imports nothing.
 * Ids (voucher, user, order) are canonical decimal strings everywhere: a 64-bit number does not fit in a JavaScript one.
 */

/** What is sold in a flash sale. */
export interface Voucher {
  readonly id: string;
  readonly title: string;
  /** How many there were to sell at the start. */
  readonly stock: number;
  readonly beginTime: Date;
  readonly endTime: Date;
  /** The row of the ladder that sells it. */
  readonly rung: string;
  /** Whether the database's last line (one order per user and voucher) is on. Only the lab turns it off. */
  readonly rails: boolean;
  /** How long a sale works between its check and its write, in milliseconds. Not 0 only in the lab. */
  readonly workMs: number;
  /** How often an optimistic sale that lost is tried again; 0 outside the lab's comparisons. */
  readonly retries: number;
}

/** One voucher sold to one user. */
export interface Order {
  readonly id: string;
  readonly voucherId: string;
  readonly userId: string;
  /** The client's name for this purchase: sent twice, it is still one purchase. */
  readonly requestId: string;
}

export type OrderStatus = 'queued' | 'confirmed' | 'failed';

export type RefusalReason =
  | 'sold-out'
  | 'already-ordered'
  | 'not-started'
  | 'ended'
  | 'busy'
  | 'conflict'
  | 'lease-lost'
  | 'lock-service-unavailable'
  | 'not-ready';

/** What became of an attempt. A time-out after a write was sent is `unknown`, never `refused`. */
export type Outcome =
  | {
      readonly kind: 'accepted';
      readonly orderId: string;
      readonly status: 'confirmed' | 'queued';
      readonly tries?: number;
    }
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly orderId?: string }
  | { readonly kind: 'unknown'; readonly orderId: string; readonly cause: unknown };

export const refused = (reason: RefusalReason, orderId?: string): Outcome =>
  orderId === undefined ? { kind: 'refused', reason } : { kind: 'refused', reason, orderId };

export type Verdict = 'held' | 'violated' | 'unknown';

/** What the audit checks; each is a file in `audit/checks/`. */
export type CheckName =
  | 'no-oversell'
  | 'one-order-per-user'
  | 'accepted-orders-exist'
  | 'no-order-unasked'
  | 'redis-agrees'
  | 'order-ids-unique'
  | 'clients-were-told-the-truth'
  | 'sections-never-overlap';
