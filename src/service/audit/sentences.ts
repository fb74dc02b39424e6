/**
 * What the audit has to say, in English: a sentence for each key, from the values beside it. Checks
 * return keys and values; the sentence is made where somebody reads it. Chinese is in
 * texts/evidence-zh.ts.
 */

type Catalog = Readonly<Record<string, (...values: never[]) => string>>;

type RowOfKey<Sentences extends Catalog, Key extends keyof Sentences> = readonly [
  key: Key,
  ...values: Parameters<Sentences[Key]>,
];

/** A key of a catalog, and the values of its sentence. */
export type RowOf<Sentences extends Catalog> = {
  [Key in keyof Sentences]: RowOfKey<Sentences, Key>;
}[keyof Sentences];

export function sentenceIn<Sentences extends Catalog, Key extends keyof Sentences>(
  catalog: Sentences,
  [key, ...values]: RowOfKey<Sentences, Key>,
): string {
  const sentence = catalog[key] as (...values: Parameters<Sentences[Key]>) => string;
  return sentence(...values);
}

/** A request between the grant of its lock and its release. */
export interface Stay {
  readonly userId: string;
  readonly orderId: string;
  readonly instance: string;
  /** In milliseconds since the history began: `0.4`. */
  readonly from: string;
  readonly to: string;
}

/** What a client was answered, or what the history has as the outcome. */
export interface Outcome {
  readonly outcome: string;
  /** Of an accepted purchase. */
  readonly orderId?: string | undefined;
}

/** Two fences in the wrong order. */
export interface FencePair {
  readonly resource: string;
  readonly earlier: { readonly orderId: string; readonly fence: string };
  readonly later: { readonly orderId: string; readonly fence: string };
}

/** What the lock events of an order lack, or have too much. */
export type LockEventGap = 'few-grants' | 'no-grant' | 'no-denial' | 'two-requests';

const gaps: Readonly<Record<LockEventGap, string>> = {
  'few-grants': 'too few grants of the lock',
  'no-grant': 'no grant of the lock',
  'no-denial': 'no denial of the lock',
  'two-requests': 'the lock events of two requests',
};

const stay = ({ userId, orderId, instance, from, to }: Stay): string =>
  `user ${userId} on ${instance} from ${from} ms to ${to} ms (order ${orderId})`;

const outcome = (known: Outcome | null): string => {
  if (known === null) return 'nothing';
  return known.outcome === 'accepted' ? `accepted (order ${known.orderId})` : known.outcome;
};

export const auditSentences = {
  'user-has-orders': (userId: string, count: number, some: readonly string[]) =>
    `user ${userId} has ${count} orders: ${some.join(', ')}` +
    (count > some.length ? ` and ${count - some.length} more` : ''),
  'more-orders-than-stock': (orders: number, stock: number) =>
    `${orders} orders for ${stock} in stock`,
  'stock-below-zero': (stock: number) => `stock is ${stock}`,
  'stock-and-orders-differ': (stock: number, orders: number, initialStock: number) =>
    `stock ${stock} + ${orders} orders is not ${initialStock}`,
  'unit-without-order': (orderId: string) =>
    `a unit is sold to order ${orderId}, which does not exist`,
  'order-without-unit': (orderId: string) => `order ${orderId} has no unit`,
  'order-without-attempt': (orderId: string, userId: string) =>
    `order ${orderId} of user ${userId} belongs to no attempt`,
  'order-id-means-several': (
    orderId: string,
    purchases: readonly { readonly userId: string; readonly requestId: string }[],
  ) => {
    const all = purchases.map(({ userId, requestId }) => `user ${userId}, request ${requestId}`);
    return `order ${orderId} means ${all.join(' and ')}`;
  },
  'order-stored-again': (orderId: string, times: number) =>
    `order ${orderId} is ${times} times in MySQL`,
  'accepted-order-missing': (orderId: string, userId: string, requestId: string) =>
    `order ${orderId} of user ${userId} was accepted (request ${requestId}) and does not exist`,
  'accepted-order-failed': (
    orderId: string,
    userId: string,
    requestId: string,
    reason: string | null,
  ) =>
    `order ${orderId} of user ${userId} was accepted (request ${requestId}) and failed (${reason}), and no other order explains it`,
  'busy-beside-unused-lock': (userId: string) =>
    `user ${userId} was refused as busy although no other purchase was using the lock`,
  'granted-late': (userId: string, ms: number) =>
    `user ${userId} got the lock ${ms} ms after it was free`,
  'stocks-differ': (redis: number | null, mysql: number) =>
    `the stock is ${redis ?? 'missing'} in Redis and ${mysql} in MySQL`,
  'buyer-without-order': (userId: string, orderId: string, inMysql: readonly string[]) =>
    `Redis sold order ${orderId} to user ${userId}, MySQL has ` +
    (inMysql.length > 0 ? `order ${inMysql.join(', ')}` : 'no order of this user'),
  'order-without-buyer': (orderId: string, userId: string) =>
    `MySQL has order ${orderId} of user ${userId}, who is no buyer in Redis`,
  'sold-out-too-early': (userId: string, taken: number, forSale: number) =>
    `user ${userId} was answered sold-out, but at most ${taken} of ${forSale} could be taken by then`,
  'already-ordered-too-early': (userId: string, orderId: string | undefined) =>
    `user ${userId} was answered already-ordered (order ${orderId}) before that order was requested`,
  'answered-with-foreign-order': (
    userId: string,
    answer: string,
    orderId: string | undefined,
    owner: string | null,
  ) =>
    `user ${userId} was answered ${answer} with order ${orderId}, which belongs to ${owner ?? 'nobody'}`,
  'sold-after-sold-out': (orderId: string | undefined, userId: string) =>
    `order ${orderId} of user ${userId} was requested and accepted after "sold out" had been answered`,
  'history-says-another-outcome': (
    requestId: string,
    answered: Outcome,
    recorded: Outcome | null,
  ) =>
    `request ${requestId} was answered ${outcome(answered)}, and the history says ${outcome(recorded)}`,
  'sections-overlap': (resource: string, one: Stay, other: Stay) =>
    `${resource}: ${stay(one)}, and ${stay(other)}`,
  'fence-granted-after': ({ resource, earlier, later }: FencePair) =>
    `${resource}: order ${later.orderId} was granted the fence ${later.fence} after order ${earlier.orderId} was granted the fence ${earlier.fence}`,
  'fence-wrote-after': ({ resource, earlier, later }: FencePair) =>
    `${resource}: order ${later.orderId} wrote with the fence ${later.fence} after order ${earlier.orderId} wrote with the fence ${earlier.fence}`,
  'grant-not-recorded': (orderId: string) =>
    `the history has no grant of the lock for order ${orderId}`,
  'lock-events-incomplete': (gap: LockEventGap, orderId: string) =>
    `the history has ${gaps[gap]} for order ${orderId}`,
  'nobody-bought-of-stock': (firstAnswer: string) =>
    `nobody bought although stock was left; the first answer was: ${firstAnswer}`,
  'writes-refused-by-mysql': (byFence: number, byUniqueKey: number) => {
    const fence = byFence > 0 ? [`${byFence} by the fence`] : [];
    const uniqueKey = byUniqueKey > 0 ? [`${byUniqueKey} by the unique key`] : [];
    return `writes that MySQL refused: ${[...fence, ...uniqueKey].join(', ')}`;
  },
  'accepted-orders-queued': () => 'accepted orders are still queued',
  'orders-queued': () => 'orders are still queued',
  'redis-moves': () => 'the sale is running: Redis changed meanwhile',
  'history-gap': () => 'the history has a gap',
  'no-history': () => 'no history was kept',
  'neither-answers-nor-history': () => 'neither answers nor history were kept',
  'no-answers': () => 'the answers of the clients were not kept',
  'not-promised': () => 'this rung does not promise it',
  'no-excluding-lock': () => 'this rung has no lock that should exclude others',
  'no-stock-in-redis': () => 'Redis keeps no stock of this sale',
  'check-failed': (error: string) => `the check itself failed: ${error}`,
};

/** What a check found, or why it could not judge. */
export type Evidence = RowOf<typeof auditSentences>;

export const inEnglish = (evidence: Evidence): string => sentenceIn(auditSentences, evidence);
