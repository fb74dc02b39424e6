/** Why there is no order id. */
import { LockstepError } from '../../errors.ts';

/** No order id can be made at the moment. Nothing was sold, since a purchase begins with its id. */
export abstract class OrderIdUnavailable extends LockstepError {}

/** The lease of a worker id, which keeps the order ids of processes apart, could not be had or kept. */
export class WorkerIdUnavailable extends OrderIdUnavailable {
  readonly code = 'WORKER_ID_UNAVAILABLE';

  constructor(why: string) {
    super(
      `No order id can be made: ${why}. Ids of two processes must never meet, so this one stops making them.`,
    );
  }
}

/** The clock is so far behind the latest order id that it must be wrong, or have been. */
export class ClockSteppedBack extends OrderIdUnavailable {
  readonly code = 'CLOCK_STEPPED_BACK';

  constructor(behindMs: number, mostMs: number) {
    super(
      `No order id can be made: the clock is ${behindMs} ms behind the latest one, and ${mostMs} ms are waited out; ` +
        'set the clock, or restart this process if the clock is right now.',
    );
  }
}

/** Redis did not hand out a count for an order id. */
export class OrderIdNotCounted extends OrderIdUnavailable {
  readonly code = 'ORDER_ID_NOT_COUNTED';

  constructor(why: string, cause?: unknown) {
    super(`No order id can be made: ${why}. The count is skipped; look at the Redis of REDIS_URL.`, {
      cause,
    });
  }
}
