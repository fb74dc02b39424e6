/** What both stores have of one voucher of the final rung. Only read-sales.ts makes it. */
import type { Order } from '../../domain.ts';

/** An entry of the order stream. */
export interface InStream {
  readonly entryId: string;
  readonly order: Order;
}

export interface OrderInMysql extends Order {
  readonly status: 'confirmed' | 'failed';
}

/** An order as the buyers' hash has it. */
export type Buyer = Pick<Order, 'id' | 'userId' | 'requestId'>;

/** What an operator may change of a sale that runs, beside its stock. */
export interface Terms {
  /** Number of the last change; 0 before the first. */
  readonly change: number;
  /** Another change may have its number when MySQL has lost some. '' before the first. */
  readonly changeBegunMs: string;
  readonly beginMs: number;
  readonly endMs: number;
  readonly paused: boolean;
}

/**
 * All orders of some users of a sale: of a large one, not all fit in memory. What each store has
 * is of another moment, in this order: the notes, the buyers, the stream, MySQL. An order is never
 * in a later one before an earlier one, so while sales go on nothing is missing that is there.
 */
export interface SalePart {
  readonly voucherId: string;
  /** By user. */
  readonly buyers: ReadonlyMap<string, Buyer>;
  /** Asked again at the end, for the users of orders that were not among the buyers. */
  readonly laterBuyers: ReadonlyMap<string, Buyer>;
  /** The ids of orders whose state is `queued` for the user. */
  readonly noted: ReadonlySet<string>;
  readonly inStream: readonly InStream[];
  /** By order id. */
  readonly inMysql: ReadonlyMap<string, OrderInMysql>;
}

/** What is the same for all its parts. */
export interface SaleTerms {
  readonly voucherId: string;
  readonly initialStock: number;
  /** As MySQL has them. */
  readonly terms: Terms;
  /** The number of its buckets; `Sale.redis` is their sum. */
  readonly buckets?: number;
}

/** The numbers of the whole sale, read after its parts. */
export interface Sale extends SaleTerms {
  /**
   * Of one moment; `stock` is null when Redis does not have the sale. The terms are those of each
   * bucket, or of the sale.
   */
  readonly redis: {
    readonly stock: number | null;
    readonly buyers: number;
    readonly terms: readonly Terms[];
  };
  /** Orders in the stream, recorded or not. */
  readonly streamed: number;
  readonly stockInMysql: number;
  /** Confirmed orders, of the same moment as `stockInMysql`. */
  readonly recorded: number;
  /** Whether a purchase was made while this was read. */
  readonly isMoving: boolean;
}

export const recordedIn = ({ inMysql }: SalePart): OrderInMysql[] =>
  [...inMysql.values()].filter(({ status }) => status === 'confirmed');

/** Queued or un-acknowledged, and not recorded. */
export const inFlight = ({ inStream, inMysql }: SalePart): InStream[] =>
  inStream.filter(({ order }) => inMysql.get(order.id)?.status !== 'confirmed');
