/**
 * Every error that the service raises itself: a stable code to match on, and a sentence with the
 * numbers and what to do next. An error is a row of a table. It is a class where callers read its
 * fields, or import it as a library. The lab's are in lab/errors.ts.
 */
import { didYouMean } from './spelling.ts';

/** An error with a code for programs. */
export class LockstepError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target === LockstepError ? code : new.target.name;
    this.code = code;
  }

  /** @returns this error, with its cause */
  causedBy(cause: unknown): this {
    this.cause = cause;
    return this;
  }
}

/** The lock service itself failed; whether the lock is free is not known. */
export class LockServiceUnavailable extends LockstepError {
  /** `answered` and `needed` count the servers of the lock service. */
  constructor(
    resource: string,
    answered: number,
    needed: number,
    cause?: unknown,
    problem = `${answered} of ${needed} needed lock servers answered. ${checkServers}`,
    code = 'LOCK_SERVICE_UNAVAILABLE',
  ) {
    super(code, `The lock on ${resource} is not available: ${problem}`, { cause });
  }
}

const checkServers = 'Check that they run and can be reached.';

/** A lock needs all of its masters, and some are missing. */
export class LockMastersMissing extends LockServiceUnavailable {
  /** As `host:port`. */
  readonly missing: readonly string[];

  constructor(resource: string, missing: readonly string[], needed: number, cause?: unknown) {
    const problem = `it needs all of ${needed} masters, and lacks ${missing.join(', ')}. ${checkServers}`;
    super(resource, needed - missing.length, needed, cause, problem, 'LOCK_MASTERS_MISSING');
    this.missing = missing;
  }
}

/** A lock needs a majority of its masters, and too few answered in time. */
export class LockMajorityMissing extends LockServiceUnavailable {
  readonly asked: number;
  readonly answered: number;
  readonly needed: number;
  /** As `host:port`. */
  readonly missing: readonly string[];

  constructor(
    resource: string,
    missing: readonly string[],
    answered: number,
    needed: number,
    cause?: unknown,
  ) {
    const problem =
      `${answered} of ${needed} needed lock servers answered in time; ` +
      `${missing.join(', ')} did not. ${checkServers}`;
    super(resource, answered, needed, cause, problem, 'LOCK_MAJORITY_MISSING');
    this.asked = answered + missing.length;
    this.answered = answered;
    this.needed = needed;
    this.missing = missing;
  }
}

/** A majority granted the lock, when its lease was over already. It was released. */
export class LockGrantedTooLate extends LockServiceUnavailable {
  readonly leaseMs: number;
  readonly elapsedMs: number;
  /** The part of the lease that is left for clocks which differ. */
  readonly driftMs: number;

  constructor(resource: string, leaseMs: number, elapsedMs: number, driftMs: number) {
    const problem =
      `granting took ${Math.round(elapsedMs)} ms of a lease of ${leaseMs} ms ` +
      `(${Math.round(driftMs)} ms are for clocks that differ). Raise LOCK_LEASE_MS, or find out why it was slow: ` +
      'its servers, or this process.';
    super(resource, 0, 0, undefined, problem, 'LOCK_GRANTED_TOO_LATE');
    this.leaseMs = leaseMs;
    this.elapsedMs = elapsedMs;
    this.driftMs = driftMs;
  }
}

/** The lease ended before the work did: another owner may hold the lock now. */
export class LeaseLost extends LockstepError {
  /** How long it lasted, in milliseconds. */
  readonly lastedMs: number;

  constructor(resource: string, lastedMs: number, advice = 'raise LOCK_LEASE_MS', cause?: unknown) {
    const sentence = `The lease on ${resource} ended after ${lastedMs} ms, before the work did; ${advice}.`;
    super('LEASE_LOST', sentence, { cause });
    this.lastedMs = lastedMs;
  }
}

/** Of a program that uses the pipeline: a sale or an order that cannot be one. */
export class PurchaseInvalid extends LockstepError {
  constructor(problem: string) {
    super('PURCHASE_INVALID', `This cannot be sold: ${problem}. Correct it; nothing was sold.`);
  }
}

/** Of a program that uses the library: an option that cannot be one. */
export class OptionInvalid extends LockstepError {
  constructor(name: string, value: unknown, allowed: string) {
    super('OPTION_INVALID', `${name} is ${String(value)}, and must be ${allowed}.`);
  }
}

const discardIt = 'Its order stays failed; discard the letter.';
const notReplayed = (letter: string, reason: string, remedy: string): string =>
  `Dead letter ${letter} was not replayed: ${reason}. ${remedy}`;

/** By code. A comment says when it is raised. */
const sentences = {
  CONFIGURATION_INVALID: (problems: readonly string[]) =>
    `The configuration is not valid: ${problems.join('; ')}. Each name is explained in src/service/config.ts.`,
  UNKNOWN_RUNG: (rung: string, known: readonly string[]) =>
    `There is no rung "${rung}".${didYouMean(rung, known)} The ladder has: ${known.join(', ')}.`,
  /** MySQL refused the write of an old lease: a newer one was granted. */
  STALE_FENCE: (resource: string, fence: string) =>
    `Fence ${fence} of ${resource} is out of date: a newer lease was granted, or this one has written already. ` +
    'Nothing was written. Its process stood still for longer than its lease, or the lock service lost its data.',
  STOCK_TOO_LARGE: (stock: number, most: number) =>
    `The stock of ${stock} is too large for a row per unit: ${most} at most. ` +
    'Create several vouchers, or choose another rung.',
  /** Redis has a sale that MySQL forgot: MySQL was restored or created again. Its ids repeat. */
  VOUCHER_ID_TAKEN: (voucherId: string) =>
    `Redis has the sale of another voucher ${voucherId}, so this voucher cannot be prepared. ` +
    'Give MySQL its newer data back, or raise the AUTO_INCREMENT of vouchers above the ids in Redis.',
  /** MySQL and Redis belong to two different sets of data. */
  EPOCHS_DIFFER: (ofMysql: string, ofRedis: string) =>
    `MySQL has the epoch ${ofMysql} and Redis has the epoch ${ofRedis}: their data do not belong together. ` +
    'MySQL or Redis was created again or restored, or MYSQL_URL or REDIS_URL names the server of another service. ' +
    'Correct the URL, or restore the store that lost its data. To give up all sales and queued orders of Redis, empty it.',
  /** The process of an audit ended without an answer. */
  AUDIT_FAILED: (voucherId: string, said: string) =>
    `The audit of voucher ${voucherId} gave no answer${said === '' ? '' : `: ${said}`}. ` +
    'If a store is away, try again when it is back.',
  /** Redis was filled with another number of shards. */
  SALE_SHARDS_DIFFER: (configured: string, found: string, key: string) =>
    `SALE_SHARDS is ${configured}, and Redis was filled with ${found}: sales would be looked for in another shard, ` +
    `and queued orders would not be recorded. Set SALE_SHARDS to ${found}. To change it, end all sales, ` +
    `wait until nothing is queued, stop the service, and delete the key ${key}.`,
  /** A power cut would take orders back that MySQL has committed. `weak`: a sentence a setting. */
  MYSQL_LOSES_COMMITS: (weak: readonly string[]) =>
    `A power cut takes back orders that MySQL has committed, and that Redis does not keep any more: ${weak.join('; ')}. ` +
    'Correct the settings; or set MYSQL_MAY_LOSE_COMMITS to 1, if you accept that.',
  /** Redis may lose orders that ORDER_DURABILITY promises to keep. `weak`: a sentence a setting. */
  DURABILITY_TOO_WEAK: (durability: string, weak: readonly string[]) =>
    `ORDER_DURABILITY is ${durability}, and Redis does not keep that promise: ${weak.join('; ')}. ` +
    'Correct the settings of every Redis that may be the master, or choose an ORDER_DURABILITY that they keep.',
  /** Not every replica has said in time that it has a write: it may be lost with its master. */
  REPLICA_BEHIND: (replicas: number, withinMs: number) =>
    `Fewer than ${replicas} replicas of Redis confirmed the write within ${withinMs} ms. The order, or the change, may exist: repeat ` +
    'the request with the same Idempotency-Key. If that goes on, check the replicas and the network to them.',
  /** A rebuild of Redis runs, or did not come to its end: nothing is sold meanwhile. */
  REBUILD_UNFINISHED: () =>
    'Redis is being rebuilt, or a rebuild did not come to its end, so there is nothing to compare. ' +
    'If no rebuild runs, start it again.',
  /** Their list would not fit in memory. */
  TOO_MANY_DIFFERENCES: (most: number) =>
    `Redis and MySQL differ in more than ${most} orders, and were not compared to the end. ` +
    'If Redis has lost data, `reconcile --rebuild` makes it whole in parts; nothing is sold meanwhile.',
  /** Another command rebuilds Redis. */
  REBUILD_RUNNING: () => 'Another rebuild of Redis runs. Wait for its end, then run `reconcile`.',
  /** Redis was rebuilt after these orders were read from it, and may have sold them again. */
  EPOCH_OVER: (epoch: string) =>
    `The epoch ${epoch} is over: Redis was rebuilt after these orders were read. They are not recorded; ` +
    'those that are still in the stream are delivered again.',
  /** Redis was emptied or rebuilt while it was repaired. */
  DATA_CHANGED: (epoch: string) =>
    `The data of Redis under the epoch ${epoch || '(none)'} are gone: it was emptied or rebuilt meanwhile. ` +
    'Nothing more was written. Start again.',
  /** A voucher cannot be changed like this; nothing was changed. */
  CHANGE_INVALID: (problem: string) =>
    `This voucher cannot be changed like this: ${problem}. Nothing was changed.`,
  /** Another process changes the stock of this voucher too, or this one took too long. */
  HOLD_LOST: (voucherId: string) =>
    `This process does not hold the buckets of voucher ${voucherId} any more, so it changes their stock no ` +
    'further. The change that is begun is finished by another process. Try again.',
  /** A change is in the journal, and was not applied, or not settled. */
  CHANGE_UNFINISHED: (voucherId: string, number: number) =>
    `Change ${number} of voucher ${voucherId} is begun, and not finished. An order worker finishes it ` +
    'once the stores answer and Redis is not being rebuilt.',
  /** A sale that is over is not changed any more. */
  SALE_ENDED: (endTime: Date) =>
    `The sale ended at ${endTime.toISOString()}. Nothing was changed: create a new voucher.`,
  /** An operator asked for less stock than is sold; nothing was changed. */
  STOCK_BELOW_SOLD: (stock: number, sold: number) =>
    `${sold} are sold, and a stock of ${stock} is less. Nothing was changed. Pause the sale first, ` +
    'look how many are sold, then set the stock.',
  /** MySQL was restored from a backup, or failed over to a replica that was behind. */
  MYSQL_BEHIND: (voucherId: string, number: number) =>
    `MySQL has lost its last changes of voucher ${voucherId}: for Redis, change ${number} is older than the last ` +
    'one. Nothing was changed, and Redis sells on as before. `reconcile` shows what both have. Bring the changes ' +
    'back into MySQL, or run `reconcile --rebuild`: then Redis sells by what MySQL has.',
  /** Redis has its epoch, and not this sale: a key was deleted by hand, or evicted. */
  REDIS_LOST_SALE: (voucherId: string) =>
    `Redis has lost the sale of voucher ${voucherId}. The change waits until Redis is rebuilt: ` +
    'run `reconcile --rebuild`.',
  /** COMMIT was sent and no answer came: the transaction may be in the database or not. */
  COMMIT_UNKNOWN: () =>
    'No answer to a commit: it may be done. Look the order up before you try again.',
  /** Too many sales wait for a connection to MySQL, or one waited too long; nothing was sold. */
  CONNECTIONS_BUSY: (connections: number, problem: string) =>
    `All ${connections} connections for sales are in use, and ${problem}. ` +
    'Try again later, or raise MYSQL_POOL_SIZE.',
  /** MySQL was silent for too long, so its connection was destroyed. */
  MYSQL_SILENT: (answerMs: number) =>
    `MySQL did not answer within ${answerMs} ms, and the connection was destroyed. ` +
    'Check that MySQL can be reached; if its statements are that slow, raise MYSQL_ANSWER_MS.',
  /** A batch of orders took too long, so its connections to MySQL were destroyed. */
  BATCH_TOO_SLOW: (orders: number, limitMs: number) =>
    `A batch of ${orders} orders was not recorded within ${limitMs} ms, and the connections to MySQL were destroyed. ` +
    'The orders are delivered again. If MySQL is that slow, lower BATCH_SIZE or raise BATCH_LIMIT_MS.',
  /** A queue did not take an order: it does not have it. */
  ORDER_NOT_QUEUED: (reason: string) =>
    `The order was not queued: ${reason}. It can be bought again.`,
  /** A queue with a bound has no room. */
  QUEUE_FULL: (limit: number) =>
    `The queue has ${limit} orders that are not recorded, and takes no more. ` +
    'Check that the order workers run and MySQL answers, or raise QUEUE_LIMIT.',
  /** A process does nothing, although its stores answer on new connections. */
  NO_PROGRESS: (subject: string, quietMs: number) =>
    `${subject} made no progress for ${Math.round(quietMs)} ms, although MySQL and Redis answer on new connections. ` +
    'The process ends, so that a new one is started. If that repeats, look at the errors before it in the log.',
  /** No shard has a dead letter of this id. */
  UNKNOWN_DEAD_LETTER: (letter: string) =>
    `There is no dead letter "${letter}": it was discarded, or the id is wrong. ` +
    '`npx lockstep dead-letters list` shows them all.',
  /** Others have bought what the failed order gave back. */
  REPLAY_SOLD_OUT: (letter: string, voucherId: string) =>
    notReplayed(
      letter,
      `voucher ${voucherId} has no stock left in Redis`,
      'Its order stays failed. Try again if stock comes back, or discard the letter.',
    ),
  /** Nothing proves that every bucket of the voucher is empty. */
  REPLAY_STOCK_MOVES: (letter: string, voucherId: string) =>
    notReplayed(
      letter,
      `stock moves between the buckets of voucher ${voucherId}, or one does not answer`,
      'Try again.',
    ),
  /** The user has bought again since. */
  REPLAY_USER_HAS_ORDER: (letter: string, userId: string, voucherId: string, orderId: string) =>
    notReplayed(
      letter,
      `user ${userId} has order ${orderId} of voucher ${voucherId}, and may have one only`,
      discardIt,
    ),
  /** The order did not fail: only an entry with its id did. */
  REPLAY_ORDER_RECORDED: (letter: string, orderId: string) =>
    notReplayed(
      letter,
      `order ${orderId} is confirmed in MySQL`,
      'Nothing is missing; discard it.',
    ),
  /** Nothing shows whose order it was. */
  REPLAY_IMPOSSIBLE: (letter: string, reason: string) =>
    notReplayed(
      letter,
      reason,
      'Look at its entry, `npx lockstep dead-letters show`; then discard it.',
    ),
  /** The voucher of the letter cannot be sold through the stream of the final rung. */
  REPLAY_SALE_CLOSED: (letter: string, reason: string) =>
    notReplayed(
      letter,
      `${reason}, and only a sale of lua-stream or lua-buckets can go on`,
      discardIt,
    ),
  /** Redis does not have the data that MySQL has. */
  REPLAY_IN_OTHER_EPOCH: (letter: string) =>
    notReplayed(
      letter,
      'MySQL and Redis have different epochs: Redis has lost its data, or is being repaired',
      'Repair it first, then try again.',
    ),
  /** Redis did not answer, so the letter may have been replayed. */
  REPLAY_UNKNOWN: (letter: string) =>
    `Redis did not answer the replay of dead letter ${letter}: it may have happened. ` +
    'Repeat the command: a letter is replayed once.',
  /** A Lua script gave an answer that its header does not list. */
  SCRIPT_ANSWER_UNEXPECTED: (script: string, answer: unknown) =>
    `lua/${script}.lua answered ${JSON.stringify(answer)}, which its header does not list.`,
  /** A condition did not become true before its deadline. */
  DEADLINE_PASSED: (condition: string, deadlineMs: number) =>
    `Waited ${deadlineMs} ms for ${condition}, and it did not happen.`,
  /** MySQL lacks tables, and the account of this process may not make them. */
  TABLES_MISSING: (migrations: readonly string[]) =>
    `Missing in MySQL: ${migrations.join(', ')}; and this account may not make tables. Start a process ` +
    'whose account may: the order workers in containers, or a service with MYSQL_OWNER_URL.',
  /** The keys of the issuer of tokens could not be read: no token can be checked. */
  TOKEN_KEYS_UNAVAILABLE: (url: string) =>
    `The keys of the issuer cannot be read from ${url}. Check TOKEN_JWKS_URL, and the issuer.`,
  /** The lease of a worker id, which keeps the order ids of processes apart, is not held. */
  WORKER_ID_UNAVAILABLE: (reason: string) =>
    `No order id can be made: ${reason}. Two processes must never make the same id, so this one stops making ids.`,
  /** The clock is so far behind the latest order id that one of the two must be wrong. */
  CLOCK_STEPPED_BACK: (behindMs: number, mostMs: number) =>
    `No order id can be made: the clock is ${behindMs} ms behind the latest order id, and at most ${mostMs} ms are ` +
    'waited for. Set the clock, or restart this process if the clock is right now.',
  /** Redis did not return a count for an order id. */
  ORDER_ID_NOT_COUNTED: (reason: string) =>
    `No order id can be made: ${reason}. The count is skipped. Check the Redis of REDIS_URL.`,
  /** A command about one dead letter does not name it. */
  LETTER_ID_MISSING: (act: string) =>
    `Name the letter: dead-letters ${act} 0-1790000000000-0. \`dead-letters list\` lists them; ` +
    '--all is for replay and discard.',
};

/** The codes of a purchase that could get no order id. It began with that, so nothing was sold. */
export const noOrderIdCodes = [
  'WORKER_ID_UNAVAILABLE',
  'CLOCK_STEPPED_BACK',
  'ORDER_ID_NOT_COUNTED',
] as const;

export type ServiceErrorCode =
  | keyof typeof sentences
  | 'LOCK_SERVICE_UNAVAILABLE'
  | 'LOCK_MASTERS_MISSING'
  | 'LOCK_MAJORITY_MISSING'
  | 'LOCK_GRANTED_TOO_LATE'
  | 'LEASE_LOST'
  | 'PURCHASE_INVALID'
  | 'OPTION_INVALID';

type Sentences = Readonly<Record<string, (...values: never[]) => string>>;
type ValuesOf<Sentence> = Sentence extends (...values: infer Values) => string ? Values : never;

/** @returns a function that makes the error of a code, from the values of its sentence */
export const errorMaker = <Table extends Sentences>(table: Table) =>
  function make<Code extends keyof Table & string>(code: Code, ...values: ValuesOf<Table[Code]>) {
    const sentence = table[code] as (...values: ValuesOf<Table[Code]>) => string;
    const error = new LockstepError(code, sentence(...values));
    Error.captureStackTrace(error, make); // Its first line is the place that throws.
    return error;
  };

/** @returns a function that tells whether something thrown is an error with one of these codes */
export const errorTest =
  <Code extends string>() =>
  (error: unknown, ...codes: readonly Code[]): error is LockstepError =>
    error instanceof LockstepError && codes.some((code) => code === error.code);

export const serviceError = errorMaker(sentences);
export const isServiceError = errorTest<ServiceErrorCode>();
