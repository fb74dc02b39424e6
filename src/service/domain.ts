/**
 * The words that every folder shares. Imports nothing. Ids (voucher, user, order) are canonical
 * decimal strings everywhere: a 64-bit number does not fit in a JavaScript one.
 */

/** The largest BIGINT. It has 19 digits, and strings of 19 digits compare like numbers. */
const largestId = '9223372036854775807';

/** One canonical form, from 1 to 2^63-1: "7", "007" and " 7" are one id for MySQL only. */
export const isId = (text: string): boolean =>
  /^[1-9][0-9]{0,18}$/.test(text) && (text.length < 19 || text <= largestId);

/** Of one voucher. */
export const bucketsMax = 64;
/** Of one voucher with a waiting room. */
export const passesAtOnceMax = 100_000;
/** Of one Redis. */
export const shardsMax = 64;

/** What is sold in a flash sale. */
export interface Voucher {
  readonly id: string;
  readonly title: string;
  /** The whole stock, sold units included. */
  readonly stock: number;
  readonly beginTime: Date;
  readonly endTime: Date;
  /** Whether an operator stopped its sale for a time. */
  readonly paused?: boolean;
  readonly rung: string;
  /** The number of buckets that share its stock, on a rung that splits it. */
  readonly buckets?: number;
  /** It has a waiting room: the most users who may buy at a time. */
  readonly passesAtOnce?: number;
  /** Present in the lab only. */
  readonly lab?: LabOptions;
}

/** What only the lab may set on a voucher, so that a weak rung shows its fault. */
export interface LabOptions {
  /** Whether the database refuses a second order of one user. */
  readonly rails: boolean;
  /** How long a sale works between its check and its write, in milliseconds. */
  readonly workMs: number;
  /** How often an optimistic sale is tried again after a conflict. */
  readonly retries: number;
}

/**
 * How long an instance may remember that a voucher is sold out, and how long stock that came back
 * waits before it is sold: the second is longer, so that no instance remembers what is not true.
 */
export const soldOutKeptMs = 1_000;
export const reopensAfterMs = 2 * soldOutKeptMs;

/** After the end of a sale, what belongs to it beside the sale itself is kept in Redis so long. */
export const keptAfterEndMs = 86_400_000;

/** Outside the lab the rails are always on. */
export const hasRails = ({ lab }: Pick<Voucher, 'lab'>): boolean => lab?.rails ?? true;

/** One voucher sold to one user. */
export interface Order {
  readonly id: string;
  readonly voucherId: string;
  readonly userId: string;
  /**
   * The client's name for this purchase. A repeated request has the same one, and is still one
   * purchase.
   */
  readonly requestId: string;
}

/**
 * What the lock of a purchase is on: the whole method, one voucher, or one user who buys one
 * voucher.
 */
export type Scope = 'method' | 'voucher' | 'user';

/** The name of the resource that a purchase locks. */
export function resourceOf(
  scope: Scope,
  { voucherId, userId }: Pick<Order, 'voucherId' | 'userId'>,
): string {
  if (scope === 'method') return 'purchase';
  return scope === 'user' ? `voucher:${voucherId}:user:${userId}` : `voucher:${voucherId}`;
}

export type OrderStatus = 'queued' | 'confirmed' | 'failed';

export const refusalReasons = [
  // k6/lib/census.js counts them by these names.
  'sold-out',
  'already-ordered',
  'not-started',
  'ended',
  'sale-paused',
  'busy',
  'database-busy',
  'conflict',
  'lease-lost',
  'stale-fence',
  'lock-service-unavailable',
  'queue-full',
  'not-ready',
] as const;
/** Why nothing was sold. */
export type RefusalReason = (typeof refusalReasons)[number];

/** The result of an attempt. A timeout after a write was sent is `unknown`, never `refused`. */
export type Outcome =
  | {
      readonly kind: 'accepted';
      readonly orderId: string;
      readonly status: 'confirmed' | 'queued';
      readonly tries?: number;
    }
  | {
      readonly kind: 'refused';
      readonly reason: RefusalReason;
      readonly orderId?: string;
      /** For people: more than the reason says. */
      readonly detail?: string;
    }
  | { readonly kind: 'unknown'; readonly orderId: string; readonly cause: unknown };

export const refused = (reason: RefusalReason, orderId?: string): Outcome =>
  orderId === undefined ? { kind: 'refused', reason } : { kind: 'refused', reason, orderId };

export type Verdict = 'held' | 'violated' | 'unknown';

/** The promises that the audit checks; each is a file in `audit/checks/`. */
export type CheckName =
  | 'no-oversell'
  | 'one-order-per-user'
  | 'no-lost-orders'
  | 'no-phantom-orders'
  | 'redis-matches-mysql'
  | 'order-ids-unique'
  | 'responses-match-database'
  | 'mutual-exclusion'
  | 'progress';
