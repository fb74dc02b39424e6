/**
 * What `reconcile`, `dead-letters` and `ended-sales` say, in English: they are programs of a
 * deployment, too, whose output goes to logs. Chinese is in texts/operate-zh.ts.
 */

/** A change of a sale, as one of the stores has it. */
export interface TermsInWords {
  readonly change: number;
  readonly paused: boolean;
  readonly begin: string;
  readonly end: string;
}

const terms = ({ change, paused, begin, end }: TermsInWords): string =>
  `change ${change} (${paused ? 'paused' : 'not paused'}, from ${begin} until ${end})`;

/** What differs between Redis and MySQL. */
export const differenceSentences = {
  'sale-missing': (voucherId: string, buyers: number) =>
    `Redis does not have the sale of voucher ${voucherId} (${buyers} buyers): rebuild it`,
  change: (inRedis: TermsInWords, inMysql: TermsInWords) =>
    `Redis has ${terms(inRedis)}, and MySQL ${terms(inMysql)}`,
  'change-of-mysql': (inRedis: TermsInWords, inMysql: TermsInWords) =>
    `Redis has ${terms(inRedis)}, and MySQL ${terms(inMysql)}: ` +
    'MySQL has lost its last changes, and a rebuild makes Redis as MySQL is',
  stock: (stock: number, orders: number, sum: number, initialStock: number) =>
    `stock ${stock} in Redis + ${orders} orders in flight or recorded = ${sum}, and the initial stock was ${initialStock}`,
  'stock-of-mysql': (stock: number, recorded: number, initialStock: number) =>
    `stock ${stock} in MySQL + ${recorded} recorded orders is not ${initialStock}`,
  'order-lost': (userId: string, orderId: string) =>
    `user ${userId} is a buyer, but order ${orderId} is neither in the stream nor in MySQL`,
  'buyer-of-failed-order': (userId: string, orderId: string) =>
    `user ${userId} is the buyer of order ${orderId}, which has failed`,
  'order-of-another-user': (
    userId: string,
    orderId: string,
    inMysql: { readonly userId: string; readonly voucherId: string },
  ) =>
    `user ${userId} is the buyer of order ${orderId}, which in MySQL is of user ${inMysql.userId} and voucher ${inMysql.voucherId}`,
  'order-without-buyer': (orderId: string, userId: string) =>
    `order ${orderId} of user ${userId} exists, but in Redis this user is no buyer`,
  'buyer-of-another-order': (orderId: string, userId: string, other: string) =>
    `order ${orderId} of user ${userId} exists, but in Redis this user has order ${other}`,
  'note-without-order': (orderId: string, status: string | undefined) =>
    `GET /orders/${orderId} says queued, but the order is ${status ?? 'nowhere'}`,
  'order-without-note': (orderId: string) =>
    `order ${orderId} is queued, but GET /orders/${orderId} says that there is none`,
};

/** What was mended. */
export const repairSentences = {
  'transfers-finished': (count: number) => `${count} transfers between buckets were finished`,
  'change-brought-back': (change: number) => `change ${change} was brought back`,
  'stock-corrected': () => 'the stock was corrected',
  'buyer-again': (userId: string, orderId: string) =>
    `user ${userId} is the buyer of order ${orderId} again`,
  'given-back': (orderId: string) => `failed order ${orderId} was given back`,
  'note-removed': (orderId: string) => `the note that order ${orderId} is queued was removed`,
  'queued-again': (orderId: string, userId: string) =>
    `order ${orderId} of user ${userId} was queued again`,
  noted: (orderId: string) => `order ${orderId} was noted as queued`,
};

interface Counted {
  readonly stock: number | null;
  readonly inFlight: number;
  readonly recorded: number;
  readonly initialStock: number;
  readonly buyers: number;
  readonly isMoving: boolean;
}

interface Restored {
  readonly recorded: number;
  readonly inFlight: number;
  readonly queuedAgain: number;
}

interface Letter {
  readonly order: string | undefined;
  readonly voucher: string | undefined;
  readonly user: string | undefined;
  readonly deliveries: number | string | undefined;
}

export const operateSentences = {
  differences: differenceSentences,
  repairs: repairSentences,
  identities: { stock: 'stock', buyers: 'buyers', status: 'status', change: 'change' },
  verdicts: {
    consistent: 'consistent: Redis and MySQL agree',
    inconsistent: 'NOT consistent: Redis and MySQL differ',
    unknown: 'could not tell: each reading had other differences; try again',
  },
  voucher: (voucherId: string, text: string) => `voucher ${voucherId}: ${text}`,
  counts: ({ stock, inFlight, recorded, initialStock, buyers, isMoving }: Counted) =>
    `stock ${stock ?? '–'} + in flight ${inFlight} + recorded ${recorded}, ` +
    `initial stock ${initialStock}; buyers ${buyers}${isMoving ? ' (it sells now)' : ''}`,
  difference: (identity: string, text: string) => `  ${identity}: ${text}`,
  more: (count: number) => `  and ${count} more`,
  removed: (count: number) => `${count} sales are over, and Redis does not have them any more`,
  passing: (count: number) => `${count} differences were gone at the next reading: sales go on`,
  repaired: (count: number) => `${count} repairs`,
  restored: ({ recorded, inFlight, queuedAgain }: Restored) =>
    `${recorded} recorded, ${inFlight} in flight, ${queuedAgain} queued again`,
  rebuilt: (count: number, frozenMs: number) =>
    `${count} sales were rebuilt; nothing was sold for ${frozenMs} ms`,
  /** What no store knows cannot be counted: the clients were told `accepted`. */
  notRebuilt:
    'Redis had lost data. An order that it had accepted, and that MySQL had not recorded by then, is lost: ' +
    'no store knows it, so it is not counted here. Its unit is on sale again, its user may buy again, ' +
    'and its id is answered with unknown-order.',

  noLetters: 'There are no dead letters.',
  letters: (count: number, total: number) => `${count} of ${total} dead letters, the oldest first`,
  letter: ({ order, voucher, user, deliveries }: Letter) =>
    `  order ${order ?? 'unknown'}, voucher ${voucher ?? 'unknown'}, user ${user ?? 'unknown'}, deliveries ${deliveries ?? 'unknown'}`,
  replayedAs: (orderId: string) => `  replayed as order ${orderId}`,
  malformed: (cause: string) => `  malformed: ${cause}`,
  order: (orderId: string, status: string) => `order ${orderId}: ${status}`,
  orderOfReplay: (orderId: string, status: string) => `order ${orderId}, of the replay: ${status}`,
  orderNotFound: 'not found',
  entry: 'Its entry:',
  replayed: (id: string, orderId: string, isFirst: boolean) =>
    `Letter ${id} ${isFirst ? 'is replayed' : 'was replayed before'}: order ${orderId}. ` +
    'When that is confirmed, discard the letter.',
  discarded: 'Discarded:',
  ofAll: (count: number, done: number, refused: number) =>
    `${count} letters: ${done} done, ${refused} refused`,
  refused: (id: string, code: string, message: string) => `Letter ${id}: ${code}: ${message}`,

  endedRemoved: (count: number) => `removed from Redis: ${count}`,
  endedKept: (count: number) =>
    `kept, because not all orders are recorded (see reconcile): ${count}`,
  ids: (ids: readonly string[]) => (ids.length === 0 ? '' : `: ${ids.join(', ')}`),
};

export type OperateSentences = typeof operateSentences;
