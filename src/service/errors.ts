/**
 * Every error that the service raises itself: a class, a stable code to match on, and a sentence
 * with the numbers and what to do next. The lab's are in lab/errors.ts.
 */
import { didYouMean } from './spelling.ts';

export abstract class LockstepError extends Error {
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

export class ConfigurationInvalid extends LockstepError {
  readonly code = 'CONFIGURATION_INVALID';

  constructor(problems: readonly string[]) {
    super(
      `The configuration is not valid: ${problems.join('; ')}. Each name is explained in src/service/config.ts.`,
    );
  }
}

export class UnknownRung extends LockstepError {
  readonly code = 'UNKNOWN_RUNG';

  constructor(rung: string, known: readonly string[]) {
    super(
      `There is no rung "${rung}".${didYouMean(rung, known)} The ladder has: ${known.join(', ')}.`,
    );
  }
}

/** The lock service itself failed; whether the lock is free is not known. */
export class LockServiceUnavailable extends LockstepError {
  readonly code: string = 'LOCK_SERVICE_UNAVAILABLE';

  /** `answered` and `needed` count the servers of the lock service. */
  constructor(
    resource: string,
    answered: number,
    needed: number,
    cause?: unknown,
    problem = `${answered} of ${needed} needed lock servers answered. ${checkServers}`,
  ) {
    super(`The lock on ${resource} is not available: ${problem}`, { cause });
  }
}

const checkServers = 'Check that they run and can be reached.';

/** A lock needs all of its masters, and some are missing. */
export class LockMastersMissing extends LockServiceUnavailable {
  override readonly code = 'LOCK_MASTERS_MISSING';
  /** As `host:port`. */
  readonly missing: readonly string[];

  constructor(resource: string, missing: readonly string[], needed: number, cause?: unknown) {
    const problem = `it needs all of ${needed} masters, and lacks ${missing.join(', ')}. ${checkServers}`;
    super(resource, needed - missing.length, needed, cause, problem);
    this.missing = missing;
  }
}

/** A lock needs a majority of its masters, and too few answered in time. */
export class LockMajorityMissing extends LockServiceUnavailable {
  override readonly code = 'LOCK_MAJORITY_MISSING';
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
    super(resource, answered, needed, cause, problem);
    this.asked = answered + missing.length;
    this.answered = answered;
    this.needed = needed;
    this.missing = missing;
  }
}

/** A majority granted the lock, when its lease was over already. It was released. */
export class LockGrantedTooLate extends LockServiceUnavailable {
  override readonly code = 'LOCK_GRANTED_TOO_LATE';
  readonly leaseMs: number;
  readonly elapsedMs: number;
  /** The part of the lease that is left for clocks which differ. */
  readonly driftMs: number;

  constructor(resource: string, leaseMs: number, elapsedMs: number, driftMs: number) {
    const problem =
      `granting took ${Math.round(elapsedMs)} ms of a lease of ${leaseMs} ms ` +
      `(${Math.round(driftMs)} ms are for clocks that differ). Raise LOCK_LEASE_MS, or find out why it was slow: ` +
      'its servers, or this process.';
    super(resource, 0, 0, undefined, problem);
    this.leaseMs = leaseMs;
    this.elapsedMs = elapsedMs;
    this.driftMs = driftMs;
  }
}

/** The lease ended before the work did: another owner may hold the lock now. */
export class LeaseLost extends LockstepError {
  readonly code = 'LEASE_LOST';
  /** How long it lasted, in milliseconds. */
  readonly lastedMs: number;

  constructor(resource: string, lastedMs: number, advice = 'raise LOCK_LEASE_MS', cause?: unknown) {
    super(`The lease on ${resource} ended after ${lastedMs} ms, before the work did; ${advice}.`, {
      cause,
    });
    this.lastedMs = lastedMs;
  }
}

/** MySQL refused the write of an old lease: a newer one was granted. */
export class StaleFence extends LockstepError {
  readonly code = 'STALE_FENCE';

  constructor(resource: string, fence: string) {
    super(
      `Fence ${fence} of ${resource} is out of date: a newer lease was granted, or this one has written already. ` +
        'Nothing was written. Its process stood still for longer than its lease, or the lock service lost its data.',
    );
  }
}

export class StockTooLarge extends LockstepError {
  readonly code = 'STOCK_TOO_LARGE';

  constructor(stock: number, most: number) {
    super(
      `The stock of ${stock} is too large for a row per unit: ${most} at most. ` +
        'Create several vouchers, or choose another rung.',
    );
  }
}

/** Redis has a sale that MySQL forgot: MySQL was created again or restored, and its ids repeat. */
export class VoucherIdTaken extends LockstepError {
  readonly code = 'VOUCHER_ID_TAKEN';

  constructor(voucherId: string) {
    super(
      `Redis has the sale of another voucher ${voucherId}, so this voucher cannot be prepared. ` +
        'Give MySQL its newer data back, or raise the AUTO_INCREMENT of vouchers above the ids in Redis.',
    );
  }
}

/** MySQL and Redis belong to two different sets of data. */
export class EpochsDiffer extends LockstepError {
  readonly code = 'EPOCHS_DIFFER';

  constructor(ofMysql: string, ofRedis: string) {
    super(
      `MySQL has the epoch ${ofMysql} and Redis has the epoch ${ofRedis}: their data do not belong together. ` +
        'MySQL or Redis was created again or restored, or MYSQL_URL or REDIS_URL names the server of another service. ' +
        'Correct the URL, or restore the store that lost its data. To give up all sales and queued orders of Redis, empty it.',
    );
  }
}

/** The process of an audit ended without an answer. */
export class AuditFailed extends LockstepError {
  readonly code = 'AUDIT_FAILED';

  constructor(voucherId: string, said: string) {
    super(
      `The audit of voucher ${voucherId} gave no answer${said === '' ? '' : `: ${said}`}. ` +
        'If a store is away, try again when it is back.',
    );
  }
}

/** Redis was filled with another number of shards. */
export class SaleShardsDiffer extends LockstepError {
  readonly code = 'SALE_SHARDS_DIFFER';

  constructor(configured: string, found: string, key: string) {
    super(
      `SALE_SHARDS is ${configured}, and Redis was filled with ${found}: sales would be looked for in another shard, ` +
        `and queued orders would not be recorded. Set SALE_SHARDS to ${found}. To change it, end all sales, ` +
        `wait until nothing is queued, stop the service, and delete the key ${key}.`,
    );
  }
}

/** A power cut would take orders back that MySQL has committed. */
export class MysqlLosesCommits extends LockstepError {
  readonly code = 'MYSQL_LOSES_COMMITS';

  /** @param weak one sentence for each setting. */
  constructor(weak: readonly string[]) {
    super(
      `A power cut takes back orders that MySQL has committed, and that Redis does not keep any more: ${weak.join('; ')}. ` +
        'Correct the settings; or set MYSQL_MAY_LOSE_COMMITS to 1, if you accept that.',
    );
  }
}

/** Redis is configured to lose orders that ORDER_DURABILITY promises to keep. */
export class DurabilityTooWeak extends LockstepError {
  readonly code = 'DURABILITY_TOO_WEAK';
  /** One sentence for each setting. */
  readonly weak: readonly string[];

  constructor(durability: string, weak: readonly string[]) {
    super(
      `ORDER_DURABILITY is ${durability}, and Redis does not keep that promise: ${weak.join('; ')}. ` +
        'Correct the settings of every Redis that may be the master, or choose an ORDER_DURABILITY that they keep.',
    );
    this.weak = weak;
  }
}

/** Not every replica has said in time that it has a write: it may be lost with its master. */
export class ReplicaBehind extends LockstepError {
  readonly code = 'REPLICA_BEHIND';

  constructor(replicas: number, withinMs: number) {
    super(
      `Fewer than ${replicas} replicas of Redis confirmed the write within ${withinMs} ms. The order, or the change, may exist: repeat ` +
        'the request with the same Idempotency-Key. If that goes on, check the replicas and the network to them.',
    );
  }
}

/** A rebuild of Redis runs, or did not come to its end: nothing is sold meanwhile. */
export class RebuildUnfinished extends LockstepError {
  readonly code = 'REBUILD_UNFINISHED';

  constructor() {
    super(
      'Redis is being rebuilt, or a rebuild did not come to its end, so there is nothing to compare. ' +
        'If no rebuild runs, start it again.',
    );
  }
}

/** Their list would not fit in memory. */
export class TooManyDifferences extends LockstepError {
  readonly code = 'TOO_MANY_DIFFERENCES';

  constructor(most: number) {
    super(
      `Redis and MySQL differ in more than ${most} orders, and were not compared to the end. ` +
        'If Redis has lost data, `reconcile --rebuild` makes it whole in parts; nothing is sold meanwhile.',
    );
  }
}

/** Another command rebuilds Redis. */
export class RebuildRunning extends LockstepError {
  readonly code = 'REBUILD_RUNNING';

  constructor() {
    super('Another rebuild of Redis runs. Wait for its end, then run `reconcile`.');
  }
}

/** Redis was rebuilt after these orders were read from it, and may have sold them again. */
export class EpochOver extends LockstepError {
  readonly code = 'EPOCH_OVER';

  constructor(epoch: string) {
    super(
      `The epoch ${epoch} is over: Redis was rebuilt after these orders were read. They are not recorded; ` +
        'those that are still in the stream are delivered again.',
    );
  }
}

/** Redis was emptied or rebuilt while it was repaired. */
export class DataChanged extends LockstepError {
  readonly code = 'DATA_CHANGED';

  constructor(epoch: string) {
    super(
      `The data of Redis under the epoch ${epoch || '(none)'} are gone: it was emptied or rebuilt meanwhile. ` +
        'Nothing more was written. Start again.',
    );
  }
}

/** A voucher cannot be changed like this; nothing was changed. */
export class ChangeInvalid extends LockstepError {
  readonly code = 'CHANGE_INVALID';

  constructor(problem: string) {
    super(`This voucher cannot be changed like this: ${problem}. Nothing was changed.`);
  }
}

/** Of a program that uses the pipeline: a sale or an order that cannot be one. */
export class PurchaseInvalid extends LockstepError {
  readonly code = 'PURCHASE_INVALID';

  constructor(problem: string) {
    super(`This cannot be sold: ${problem}. Correct it; nothing was sold.`);
  }
}

/** Of a program that uses the library: an option that cannot be one. */
export class OptionInvalid extends LockstepError {
  readonly code = 'OPTION_INVALID';

  constructor(name: string, value: unknown, allowed: string) {
    super(`${name} is ${String(value)}, and must be ${allowed}.`);
  }
}

/** Another process changes the stock of this voucher too, or this one took too long. */
export class HoldLost extends LockstepError {
  readonly code = 'HOLD_LOST';

  constructor(voucherId: string) {
    super(
      `This process does not hold the buckets of voucher ${voucherId} any more, so it changes their stock no ` +
        'further. The change that is begun is finished by another process. Try again.',
    );
  }
}

/** A change is in the journal, and was not applied, or not settled. */
export class ChangeUnfinished extends LockstepError {
  readonly code = 'CHANGE_UNFINISHED';

  constructor(voucherId: string, number: number, cause: unknown) {
    super(
      `Change ${number} of voucher ${voucherId} is begun, and not finished. An order worker finishes it ` +
        'once the stores answer and Redis is not being rebuilt.',
      { cause },
    );
  }
}

/** A sale that is over is not changed any more. */
export class SaleEnded extends LockstepError {
  readonly code = 'SALE_ENDED';

  constructor(endTime: Date) {
    super(`The sale ended at ${endTime.toISOString()}. Nothing was changed: create a new voucher.`);
  }
}

/** An operator asked for less stock than is sold; nothing was changed. */
export class StockBelowSold extends LockstepError {
  readonly code = 'STOCK_BELOW_SOLD';

  constructor(stock: number, sold: number) {
    super(
      `${sold} are sold, and a stock of ${stock} is less. Nothing was changed. Pause the sale first, ` +
        'look how many are sold, then set the stock.',
    );
  }
}

/** MySQL was restored from a backup, or failed over to a replica that was behind. */
export class MysqlBehind extends LockstepError {
  readonly code = 'MYSQL_BEHIND';

  constructor(voucherId: string, number: number) {
    super(
      `MySQL has lost its last changes of voucher ${voucherId}: for Redis, change ${number} is older than the last ` +
        'one. Nothing was changed, and Redis sells on as before. `reconcile` shows what both have. Bring the changes ' +
        'back into MySQL, or run `reconcile --rebuild`: then Redis sells by what MySQL has.',
    );
  }
}

/** Redis has its epoch, and not this sale: a key was deleted by hand, or evicted. */
export class RedisLostSale extends LockstepError {
  readonly code = 'REDIS_LOST_SALE';

  constructor(voucherId: string) {
    super(
      `Redis has lost the sale of voucher ${voucherId}. The change waits until Redis is rebuilt: ` +
        'run `reconcile --rebuild`.',
    );
  }
}

/** COMMIT was sent and no answer came: the transaction may be in the database or not. */
export class CommitUnknown extends LockstepError {
  readonly code = 'COMMIT_UNKNOWN';

  constructor(cause: unknown) {
    super('No answer to a commit: it may be done. Look the order up before you try again.', {
      cause,
    });
  }
}

/** Too many sales wait for a connection to MySQL, or one waited too long; nothing was sold. */
export class ConnectionsBusy extends LockstepError {
  readonly code = 'CONNECTIONS_BUSY';

  constructor(connections: number, problem: string) {
    super(
      `All ${connections} connections for sales are in use, and ${problem}. ` +
        'Try again later, or raise MYSQL_POOL_SIZE.',
    );
  }
}

/** MySQL was silent for too long, so its connection was destroyed. */
export class MysqlSilent extends LockstepError {
  readonly code = 'MYSQL_SILENT';

  constructor(answerMs: number) {
    super(
      `MySQL did not answer within ${answerMs} ms, and the connection was destroyed. ` +
        'Check that MySQL can be reached; if its statements are that slow, raise MYSQL_ANSWER_MS.',
    );
  }
}

/** A batch of orders took too long, so its connections to MySQL were destroyed. */
export class BatchTooSlow extends LockstepError {
  readonly code = 'BATCH_TOO_SLOW';

  constructor(orders: number, limitMs: number) {
    super(
      `A batch of ${orders} orders was not recorded within ${limitMs} ms, and the connections to MySQL were destroyed. ` +
        'The orders are delivered again. If MySQL is that slow, lower BATCH_SIZE or raise BATCH_LIMIT_MS.',
    );
  }
}

/** A queue did not take an order: it does not have it. */
export class OrderNotQueued extends LockstepError {
  readonly code: string = 'ORDER_NOT_QUEUED';

  constructor(
    reason: string,
    problem = `The order was not queued: ${reason}. It can be bought again.`,
  ) {
    super(problem);
  }
}

/** A queue with a bound has no room. */
export class QueueFull extends OrderNotQueued {
  override readonly code = 'QUEUE_FULL';

  constructor(limit: number) {
    super(
      'the queue is full',
      `The queue has ${limit} orders that are not recorded, and takes no more. ` +
        'Check that the order workers run and MySQL answers, or raise QUEUE_LIMIT.',
    );
  }
}

/** A process does nothing, although its stores answer on new connections. */
export class NoProgress extends LockstepError {
  readonly code = 'NO_PROGRESS';

  constructor(subject: string, quietMs: number) {
    super(
      `${subject} made no progress for ${Math.round(quietMs)} ms, although MySQL and Redis answer on new connections. ` +
        'The process ends, so that a new one is started. If that repeats, look at the errors before it in the log.',
    );
  }
}

/** No shard has a dead letter of this id. */
export class UnknownDeadLetter extends LockstepError {
  readonly code = 'UNKNOWN_DEAD_LETTER';

  constructor(letter: string) {
    super(
      `There is no dead letter "${letter}": it was discarded, or the id is wrong. ` +
        '`npx lockstep dead-letters list` shows them all.',
    );
  }
}

/** A dead letter was not replayed, and nothing was sold. */
export abstract class ReplayRefused extends LockstepError {
  constructor(letter: string, reason: string, remedy: string) {
    super(`Dead letter ${letter} was not replayed: ${reason}. ${remedy}`);
  }
}

const discardIt = 'Its order stays failed; discard the letter.';

/** Others have bought what the failed order gave back. */
export class ReplaySoldOut extends ReplayRefused {
  readonly code = 'REPLAY_SOLD_OUT';

  constructor(letter: string, voucherId: string) {
    const remedy = 'Its order stays failed. Try again if stock comes back, or discard the letter.';
    super(letter, `voucher ${voucherId} has no stock left in Redis`, remedy);
  }
}

/** Nothing proves that every bucket of the voucher is empty. */
export class ReplayStockMoves extends ReplayRefused {
  readonly code = 'REPLAY_STOCK_MOVES';

  constructor(letter: string, voucherId: string) {
    const moves = `stock moves between the buckets of voucher ${voucherId}, or one does not answer`;
    super(letter, moves, 'Try again.');
  }
}

/** The user has bought again since. */
export class ReplayUserHasOrder extends ReplayRefused {
  readonly code = 'REPLAY_USER_HAS_ORDER';

  constructor(letter: string, userId: string, voucherId: string, orderId: string) {
    const has = `user ${userId} has order ${orderId} of voucher ${voucherId}, and may have one only`;
    super(letter, has, discardIt);
  }
}

/** The order did not fail: only an entry with its id did. */
export class ReplayOrderRecorded extends ReplayRefused {
  readonly code = 'REPLAY_ORDER_RECORDED';

  constructor(letter: string, orderId: string) {
    super(letter, `order ${orderId} is confirmed in MySQL`, 'Nothing is missing; discard it.');
  }
}

/** Nothing shows whose order it was. */
export class ReplayImpossible extends ReplayRefused {
  readonly code = 'REPLAY_IMPOSSIBLE';

  constructor(letter: string, reason: string) {
    super(letter, reason, 'Look at its entry, `npx lockstep dead-letters show`; then discard it.');
  }
}

/** The voucher of the letter cannot be sold through the stream of the final rung. */
export class ReplaySaleClosed extends ReplayRefused {
  readonly code = 'REPLAY_SALE_CLOSED';

  constructor(letter: string, reason: string) {
    super(letter, `${reason}, and only a sale of lua-stream or lua-buckets can go on`, discardIt);
  }
}

/** Redis does not have the data that MySQL has. */
export class ReplayInOtherEpoch extends ReplayRefused {
  readonly code = 'REPLAY_IN_OTHER_EPOCH';

  constructor(letter: string) {
    const reason = 'MySQL and Redis have different epochs: Redis has lost its data';
    super(letter, `${reason}, or is being repaired`, 'Repair it first, then try again.');
  }
}

/** Redis did not answer, so the letter may have been replayed. */
export class ReplayUnknown extends LockstepError {
  readonly code = 'REPLAY_UNKNOWN';

  constructor(letter: string, cause: unknown) {
    super(
      `Redis did not answer the replay of dead letter ${letter}: it may have happened. ` +
        'Repeat the command: a letter is replayed once.',
      { cause },
    );
  }
}

/** A Lua script gave an answer that its header does not list. */
export class ScriptAnswerUnexpected extends LockstepError {
  readonly code = 'SCRIPT_ANSWER_UNEXPECTED';

  constructor(script: string, answer: unknown) {
    super(`lua/${script}.lua answered ${JSON.stringify(answer)}, which its header does not list.`);
  }
}

/** A condition did not become true before its deadline. */
export class DeadlinePassed extends LockstepError {
  readonly code = 'DEADLINE_PASSED';

  constructor(condition: string, deadlineMs: number, cause?: unknown) {
    super(`Waited ${deadlineMs} ms for ${condition}, and it did not happen.`, { cause });
  }
}

/** MySQL lacks tables, and the account of this process may not make them. */
export class TablesMissing extends LockstepError {
  readonly code = 'TABLES_MISSING';

  constructor(migrations: readonly string[], cause: unknown) {
    super(
      `Missing in MySQL: ${migrations.join(', ')}; and this account may not make tables. Start a process ` +
        'whose account may: the order workers in containers, or a service with MYSQL_OWNER_URL.',
      { cause },
    );
  }
}

/** The keys of the issuer of tokens could not be read: no token can be checked. */
export class TokenKeysUnavailable extends LockstepError {
  readonly code = 'TOKEN_KEYS_UNAVAILABLE';

  constructor(url: string, cause: unknown) {
    super(
      `The keys of the issuer cannot be read from ${url}. Check TOKEN_JWKS_URL, and the issuer.`,
      {
        cause,
      },
    );
  }
}

/**
 * No order id can be made at the moment. Nothing was sold, since a purchase begins with its order
 * id.
 */
export abstract class OrderIdUnavailable extends LockstepError {}

/**
 * The lease of a worker id, which keeps the order ids of processes apart, could not be acquired or
 * renewed.
 */
export class WorkerIdUnavailable extends OrderIdUnavailable {
  readonly code = 'WORKER_ID_UNAVAILABLE';

  constructor(reason: string) {
    super(
      `No order id can be made: ${reason}. Two processes must never make the same id, so this one stops making ids.`,
    );
  }
}

/** The clock is so far behind the latest order id that one of the two must be wrong. */
export class ClockSteppedBack extends OrderIdUnavailable {
  readonly code = 'CLOCK_STEPPED_BACK';

  constructor(behindMs: number, mostMs: number) {
    super(
      `No order id can be made: the clock is ${behindMs} ms behind the latest order id, and at most ${mostMs} ms are ` +
        'waited for. Set the clock, or restart this process if the clock is right now.',
    );
  }
}

/** Redis did not return a count for an order id. */
export class OrderIdNotCounted extends OrderIdUnavailable {
  readonly code = 'ORDER_ID_NOT_COUNTED';

  constructor(reason: string, cause?: unknown) {
    super(
      `No order id can be made: ${reason}. The count is skipped. Check the Redis of REDIS_URL.`,
      {
        cause,
      },
    );
  }
}

/** A command about one dead letter does not name it. */
export class LetterIdMissing extends LockstepError {
  readonly code = 'LETTER_ID_MISSING';

  constructor(act: string) {
    super(
      `Name the letter: dead-letters ${act} 0-1790000000000-0. \`dead-letters list\` lists them; ` +
        '--all is for replay and discard.',
    );
  }
}
