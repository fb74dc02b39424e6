/**
 * Every error that the service raises itself: a class, a stable code to match on, and a sentence
 * with the numbers and what to do next. The lab's are in lab/errors.ts.
 */
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
      `The configuration is not valid: ${problems.join('; ')}. Each name is explained in src/config.ts.`,
    );
  }
}

export class UnknownRung extends LockstepError {
  readonly code = 'UNKNOWN_RUNG';

  constructor(rung: string, known: readonly string[]) {
    super(`There is no rung "${rung}". The ladder has: ${known.join(', ')}.`);
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
    problem = `${answered} of ${needed} needed lock servers answered`,
  ) {
    super(
      `The lock on ${resource} is not available: ${problem}. Check that they run and can be reached.`,
      { cause },
    );
  }
}

/** A lock needs all of its masters, and some are missing. */
export class LockMastersMissing extends LockServiceUnavailable {
  override readonly code = 'LOCK_MASTERS_MISSING';
  /** As `host:port`. */
  readonly missing: readonly string[];

  constructor(resource: string, missing: readonly string[], needed: number, cause?: unknown) {
    const problem = `it needs all of ${needed} masters, and lacks ${missing.join(', ')}`;
    super(resource, needed - missing.length, needed, cause, problem);
    this.missing = missing;
  }
}

/** The lease ended before the work did: another owner may hold the lock now. */
export class LeaseLost extends LockstepError {
  readonly code = 'LEASE_LOST';

  constructor(resource: string, leaseMs: number, advice = 'raise LOCK_LEASE_MS') {
    super(`The lease on ${resource} ended after ${leaseMs} ms, before the work did; ${advice}.`);
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

/** COMMIT was sent and no answer came: the transaction may be in the database or not. */
export class CommitUnknown extends LockstepError {
  readonly code = 'COMMIT_UNKNOWN';

  constructor(cause: unknown) {
    super('COMMIT was sent and no answer came. Look the order up before you try again.', { cause });
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
