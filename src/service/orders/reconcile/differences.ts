/**
 * What both stores have of one voucher of the final rung, the four identities of its sale, and each
 * difference from them. Only read-sales.ts makes a sale. Pure.
 *
 * 1. stock in Redis + orders in flight + recorded orders = initial stock
 * 2. buyers in Redis = users of recorded orders and of orders in flight
 * 3. the state that a user is told of an order = the truth
 * 4. the pause, the window and the number of the last change in Redis = those in MySQL
 */
import type { RowOf } from '../../audit/sentences.ts';
import type { Order } from '../../domain.ts';
import type { differenceSentences, TermsInWords } from '../../operate/sentences.ts';

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
  /** The number of its buckets; what Redis has is their sum. */
  readonly buckets?: number | undefined;
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

export const identities = ['stock', 'buyers', 'status', 'change'] as const;
type Identity = (typeof identities)[number];

/** A key, and the values of its sentence. */
type Says = RowOf<typeof differenceSentences>;

interface Statement {
  readonly identity: Identity;
  readonly says: Says;
}

type OrderKind =
  | 'order-lost'
  | 'buyer-of-failed-order'
  | 'order-without-buyer'
  | 'buyer-of-another-order'
  | 'order-of-another-user';

/** `order`: that of another user is as Redis has it. */
interface OrderDifference extends Statement {
  readonly kind: OrderKind;
  readonly order: Order;
}

export type Difference = OrderDifference | OtherDifference;

type OtherDifference = Statement &
  (
    | { readonly kind: 'sale-missing' | 'stock-of-mysql' | 'change-of-mysql' }
    /** `inRedis`: the number of the last change that Redis has. */
    | { readonly kind: 'change'; readonly inRedis: number }
    /** `redisGap`: by how much stock and buyers of Redis are more than the initial stock. */
    | { readonly kind: 'stock'; readonly gap: number; readonly redisGap: number }
    | { readonly kind: 'note-without-order'; readonly orderId: string }
    | { readonly kind: 'order-without-note'; readonly entry: InStream }
  );

/** @param orders the differences of all its parts. */
export function differencesOf(sale: Sale, orders: readonly Difference[]): Difference[] {
  if (isRemoved(sale)) return [];
  if (sale.redis.stock === null) return [saleMissing(sale)];
  const told = withoutTwice(orders);
  // The change first: the stock is corrected to that of the last change.
  return [...changeDifferences(sale), ...stockDifferences(sale, told), ...told];
}

/** The user that MySQL has is no buyer, but the unit of the order is taken. */
function withoutTwice(orders: readonly Difference[]): readonly Difference[] {
  const others = orders.filter(({ kind }) => kind === 'order-of-another-user');
  const ids = new Set(others.map((each) => 'order' in each && each.order.id));
  const isTold = (each: Difference) => 'order' in each && ids.has(each.order.id);
  return [...orders.filter((each) => !isTold(each)), ...others];
}

/** Those of the second and third identity: one order each. */
export function orderDifferences(sale: SalePart): Difference[] {
  const { voucherId } = sale;
  const bought = [...sale.buyers.values()].map((buyer) => ({ ...buyer, voucherId }));
  const lost = lostOrders(sale, bought);
  return [
    ...lost,
    ...buyersOfFailedOrders(sale, bought),
    ...ordersOfAnotherUser(sale, bought),
    ...ordersWithoutBuyer(sale),
    ...notesWithoutOrder(sale, new Set(lost.map(({ order }) => order.id))),
    ...ordersWithoutNote(sale),
  ];
}

/** An operator may delete the keys of a sale that is over. */
export const isRemoved = (
  { redis, terms, streamed }: Pick<Sale, 'redis' | 'terms' | 'streamed'>,
  nowMs = Date.now(),
): boolean => redis.stock === null && redis.buyers === 0 && streamed === 0 && nowMs > terms.endMs;

const saleMissing = ({ voucherId, redis }: Sale): Difference => ({
  identity: 'stock',
  kind: 'sale-missing',
  says: ['sale-missing', voucherId, redis.buyers],
});

/** Of a sale in buckets: of the first bucket that differs. */
function changeDifferences({ redis, terms }: Sale): Difference[] {
  const found = redis.terms.find((each) => !isEqual(each, terms));
  if (!found) return [];
  const isBehind = found.change > terms.change || isOtherChange(found, terms);
  const both = [termsInWords(found), termsInWords(terms)] as const;
  const identity = 'change';
  if (isBehind) return [{ identity, kind: 'change-of-mysql', says: ['change-of-mysql', ...both] }];
  return [{ identity, kind: 'change', inRedis: found.change, says: ['change', ...both] }];
}

/** A sale that was changed by an earlier version does not say when that was begun. */
const isOtherChange = (one: Terms, other: Terms): boolean =>
  one.change === other.change &&
  ![one.changeBegunMs, other.changeBegunMs].includes('') &&
  one.changeBegunMs !== other.changeBegunMs;

const isEqual = (one: Terms, other: Terms): boolean =>
  !isOtherChange(one, other) &&
  (['change', 'beginMs', 'endMs', 'paused'] as const).every((name) => one[name] === other[name]);

const termsInWords = ({ change, beginMs, endMs, paused }: Terms): TermsInWords => ({
  change,
  paused,
  begin: timeText(beginMs),
  end: timeText(endMs),
});

/** Of Redis it may be no number. */
const timeText = (ms: number): string =>
  Number.isFinite(ms) ? new Date(ms).toISOString() : 'no time';

function stockDifferences(sale: Sale, buyers: readonly Difference[]): Difference[] {
  const { redis, initialStock, stockInMysql, recorded } = sale;
  const count = (kind: Difference['kind']) => buyers.filter((each) => each.kind === kind).length;
  const redisGap = (redis.stock ?? 0) + redis.buyers - initialStock;
  const tooMany = count('order-lost') + count('buyer-of-failed-order');
  const missing = count('order-without-buyer') + count('buyer-of-another-order');
  const gap = redisGap - tooMany + missing;
  const found: Difference[] = [];
  if (gap !== 0) {
    const orders = initialStock - (redis.stock ?? 0) + gap;
    const says = ['stock', redis.stock ?? 0, orders, initialStock + gap, initialStock] as const;
    found.push({ identity: 'stock', kind: 'stock', gap, redisGap, says });
  }
  if (stockInMysql + recorded !== initialStock) {
    const says = ['stock-of-mysql', stockInMysql, recorded, initialStock] as const;
    found.push({ identity: 'stock', kind: 'stock-of-mysql', says });
  }
  return found;
}

const streamOrders = ({ inStream }: SalePart): ReadonlySet<string> =>
  new Set(inStream.map(({ order }) => order.id));

/** The key of the sentence is the kind. */
const orderDifference = (
  order: Order,
  says: Extract<Says, readonly [OrderKind, ...unknown[]]>,
): OrderDifference => ({ identity: 'buyers', kind: says[0], order, says });

/** In no queue and not in MySQL: nobody would ever record it. */
function lostOrders(sale: SalePart, bought: readonly Order[]): OrderDifference[] {
  const streamed = streamOrders(sale);
  return bought
    .filter(({ id }) => !streamed.has(id) && !sale.inMysql.has(id))
    .map((order) => orderDifference(order, ['order-lost', order.userId, order.id]));
}

/** While it is in the stream, a worker is about to give it back. */
function buyersOfFailedOrders(sale: SalePart, bought: readonly Order[]): OrderDifference[] {
  const streamed = streamOrders(sale);
  return bought
    .filter(({ id }) => sale.inMysql.get(id)?.status === 'failed' && !streamed.has(id))
    .map((order) => orderDifference(order, ['buyer-of-failed-order', order.userId, order.id]));
}

/** Somebody changed MySQL by hand: no process does. */
function ordersOfAnotherUser(sale: SalePart, bought: readonly Order[]): OrderDifference[] {
  return bought.flatMap((order) => {
    const { id, voucherId, userId } = order;
    const found = sale.inMysql.get(id);
    const isSame = found?.userId === userId && found.voucherId === voucherId;
    if (found?.status !== 'confirmed' || isSame) return [];
    return [orderDifference(order, ['order-of-another-user', userId, id, found])];
  });
}

/** Redis would sell to this user again, unless the user is the buyer of another order. */
function ordersWithoutBuyer(sale: SalePart): OrderDifference[] {
  const waiting = inFlight(sale)
    .map(({ order }) => order)
    .filter(({ id }) => !sale.inMysql.has(id));
  const orders = new Map([...waiting, ...recordedIn(sale)].map((order) => [order.id, order]));
  return [...orders.values()].flatMap((order) => withoutBuyer(sale, order));
}

function withoutBuyer({ buyers, laterBuyers }: SalePart, found: Order): OrderDifference[] {
  const { id, voucherId, userId, requestId } = found;
  const order = { id, voucherId, userId, requestId };
  const known = [buyers.get(userId)?.id, laterBuyers.get(userId)?.id];
  if (known.includes(id)) return [];
  const other = known.find((each) => each !== undefined);
  return other === undefined
    ? [orderDifference(order, ['order-without-buyer', id, userId])]
    : [orderDifference(order, ['buyer-of-another-order', id, userId, other])];
}

/** A lost order is queued again, so its note is right then. */
function notesWithoutOrder(sale: SalePart, lost: ReadonlySet<string>): Difference[] {
  const streamed = streamOrders(sale);
  return [...sale.noted]
    .filter((id) => !streamed.has(id) && !lost.has(id))
    .map((orderId) => ({
      identity: 'status',
      kind: 'note-without-order',
      orderId,
      says: ['note-without-order', orderId, sale.inMysql.get(orderId)?.status],
    }));
}

function ordersWithoutNote(sale: SalePart): Difference[] {
  return inFlight(sale)
    .filter(({ order }) => !sale.noted.has(order.id) && !sale.inMysql.has(order.id))
    .map((entry) => ({
      identity: 'status',
      kind: 'order-without-note',
      entry,
      says: ['order-without-note', entry.order.id],
    }));
}
