/**
 * Order ids as snowflakes: 41 bits of milliseconds since 2026, 10 of worker id, 12 of sequence.
 * They are made in memory; only the worker id comes from Redis.
 */

import { randomInt, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { loadScript, runScript } from '../connections/scripts.ts';
import { isServiceError, noOrderIdCodes, serviceError } from '../errors.ts';
import type { OrderIds } from './order-ids.ts';

const epochMs = Date.UTC(2026, 0, 1);
const largestSequence = 4095;

/** On worker ids that need no renewal. */
export const snowflakes = (...parts: Parameters<typeof snowflakeMaker>): (() => string) =>
  snowflakeMaker(...parts).next;

/**
 * Ascending ids, also when the worker id changes or the clock steps back: the timestamp never goes
 * back. `check` makes none: it only tells whether `next` would throw. Both throw one of
 * noOrderIdCodes when no id can be made.
 */
function snowflakeMaker(
  reserved: () => Stretch | undefined,
  log: Logger,
  now: () => number = () => Date.now(),
) {
  const checkClock = watchClock(log);
  let timestampMs = 0;
  let sequence = 0;
  let workerId = -1;

  /** A used-up sequence borrows the next millisecond. So does a new worker id: it may be lower. */
  function earliestTimestampMs(stretch: Stretch): number {
    const isUsedUp = sequence === largestSequence || stretch.workerId !== workerId;
    const afterLatestMs = isUsedUp ? timestampMs + 1 : timestampMs;
    return Math.max(afterLatestMs, stretch.fromMs, epochMs);
  }

  function nextIn(): { readonly nextMs: number; readonly stretch: Stretch } {
    const stretch = reserved();
    if (!stretch)
      throw serviceError(
        'WORKER_ID_UNAVAILABLE',
        'another process took the worker id, and no other id is free',
      );
    const earliestMs = earliestTimestampMs(stretch);
    const clockMs = now();
    checkClock(clockMs, earliestMs);
    const nextMs = Math.max(earliestMs, clockMs);
    if (nextMs >= stretch.untilMs)
      throw serviceError(
        'WORKER_ID_UNAVAILABLE',
        `the lease of worker id ${stretch.workerId} has expired`,
      );
    return { nextMs, stretch };
  }

  function next(): string {
    const { nextMs, stretch } = nextIn();
    sequence = nextMs > timestampMs ? 0 : sequence + 1;
    timestampMs = nextMs;
    workerId = stretch.workerId;
    return compose(timestampMs, workerId, sequence);
  }

  return { next, check: () => void nextIn() };
}

const compose = (timestampMs: number, workerId: number, sequence: number): string =>
  ((BigInt(timestampMs - epochMs) << 22n) | BigInt((workerId << 12) | sequence)).toString();

export interface SnowflakeOptions {
  /**
   * How far ahead timestamps are reserved. Redis may be away that long, and after a process ended
   * its worker id stays unused that long.
   */
  readonly stretchMs?: number;
  readonly now?: () => number;
}

/** @throws WORKER_ID_UNAVAILABLE when all worker ids are taken. */
export async function openSnowflakes(
  redis: Redis,
  log: Logger,
  { stretchMs = 60_000, now = () => Date.now() }: SnowflakeOptions = {},
): Promise<OrderIds> {
  const lease = await leaseWorkerId(redis, log, stretchMs, now);
  const { renew, renewSoon } = renewals(lease, log, stretchMs / 60);
  const timer = setInterval(renew, stretchMs / 6).unref();
  const maker = snowflakeMaker(() => lease.stretch, log, now);

  /** Without a lease the next tick may be 10 s away. A renewal does not set a clock right. */
  function renewing<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      if (isServiceError(error, 'WORKER_ID_UNAVAILABLE')) renewSoon();
      throw error;
    }
  }

  return {
    next: () => renewing(maker.next),
    problem: () => problemOf(() => renewing(maker.check)),
    // The worker id is not released: its timestamps stay reserved until the clock has passed them.
    close: () => clearInterval(timer),
  };
}

/**
 * One at a time. `renewSoon` is for callers who need it now: after one that failed it waits for
 * `pauseMs`, so that a Redis without an answer is not asked again for each purchase.
 */
function renewals(lease: { renew(): Promise<void> }, log: Logger, pauseMs: number) {
  let isRenewing = false;
  let pausedUntil = 0; // By the monotonic clock: the other one may just have stepped.
  const renew = async () => {
    if (isRenewing) return;
    isRenewing = true;
    await lease.renew().catch((error) => {
      pausedUntil = performance.now() + pauseMs;
      log.warn({ event: 'worker-id-not-renewed', error: String(error) });
    });
    isRenewing = false;
  };
  const renewSoon = () => {
    if (performance.now() >= pausedUntil) void renew();
  };
  return { renew, renewSoon };
}

/** Why no order id can be made; null when one can. */
function problemOf(check: () => void): string | null {
  try {
    check();
    return null;
  } catch (error) {
    if (isServiceError(error, ...noOrderIdCodes)) return error.message;
    throw error;
  }
}

/** How far ids may be ahead of the clock: it stepped back, or the ids borrowed milliseconds. */
const maxAheadMs = 5_000;

type State = 'right' | 'behind' | 'too far behind';

/**
 * A clock that steps back. After a small step, ids stay on the latest timestamp until the clock has
 * passed it again. After a large step no ids are made, because the clock must be wrong. The start
 * and the end of each step are logged once.
 * @returns a check of the clock against the earliest timestamp that the next id may have.
 * @throws CLOCK_STEPPED_BACK from that check.
 */
function watchClock(log: Logger): (clockMs: number, earliestMs: number) => void {
  const report = stateReporter(log);
  let latestMs = 0;
  return (clockMs, earliestMs) => {
    const aheadMs = earliestMs - clockMs;
    if (aheadMs > maxAheadMs) {
      report('too far behind', aheadMs);
      throw serviceError('CLOCK_STEPPED_BACK', aheadMs, maxAheadMs);
    }
    report(clockMs < latestMs ? 'behind' : 'right', latestMs - clockMs);
    latestMs = Math.max(latestMs, clockMs);
  };
}

/** Logs every change of state, once. */
function stateReporter(log: Logger): (next: State, behindMs: number) => void {
  let state: State = 'right';
  return (next, behindMs) => {
    if (next === state) return;
    state = next;
    switch (next) {
      case 'right':
        return log.info({ event: 'clock-is-right-again' });
      case 'behind':
        return log.warn({ event: 'clock-stepped-back', behindMs, until: 'the clock catches up' });
      case 'too far behind':
        return log.error({ event: 'clock-stepped-back-too-far', behindMs, maxAheadMs });
    }
  };
}

export const workerIds = 1024;
/** HASH worker id → `end of its stretch in ms:owner` */
export const workerIdsKey = 'lockstep:worker-ids';

const reserveWorkerId = loadScript('ids/reserve-worker-id');

export interface Stretch {
  readonly workerId: number;
  readonly fromMs: number;
  /** Not included. */
  readonly untilMs: number;
}

interface Owner {
  readonly redis: Redis;
  readonly name: string;
  readonly stretchMs: number;
  readonly now: () => number;
}

/**
 * A worker id is leased as a stretch of timestamps: until its end, no other process may use these
 * timestamps with this worker id. The end is stored for ever, and the next owner begins only when
 * its own clock has passed the stored end. So two owners can never make the same id: not when a
 * clock is wrong, not when one starts right after the other, and not when the first is paused and
 * resumes, because its stretch is still reserved for it. A lease with an expiry in Redis would not
 * give this: it says nothing about the timestamps that its owner has used.
 * @throws WORKER_ID_UNAVAILABLE when all worker ids are taken.
 */
async function leaseWorkerId(redis: Redis, log: Logger, stretchMs: number, now: () => number) {
  const owner = { redis, name: randomUUID(), stretchMs, now };
  let stretch: Stretch | undefined = await reserveFree(owner);

  const renew = async () => {
    if (stretch) {
      const { workerId } = stretch;
      stretch = await reserve(owner, workerId, stretch);
      if (!stretch) log.warn({ event: 'worker-id-taken-over', workerId });
    }
    stretch ??= await reserveFree(owner);
  };

  return {
    /** Undefined while this process has no worker id. */
    get stretch() {
      return stretch;
    },
    renew,
  };
}

/**
 * The new stretch never begins before the earlier one, not even when the clock was set back: the
 * timestamps before it may belong to an earlier owner.
 */
async function reserve(
  { redis, name, stretchMs, now }: Owner,
  workerId: number,
  earlier?: Stretch,
): Promise<Stretch | undefined> {
  const fromMs = Math.max(now(), earlier?.fromMs ?? 0);
  const untilMs = fromMs + stretchMs;
  const args = [String(workerId), name, String(fromMs), String(untilMs)];
  const answer = await runScript(redis, reserveWorkerId, [workerIdsKey], args);
  return answer === 'reserved' ? { workerId, fromMs, untilMs } : undefined;
}

async function reserveFree(owner: Owner): Promise<Stretch> {
  const first = randomInt(workerIds);
  for (let tries = 0; tries < workerIds; tries++) {
    const stretch = await reserve(owner, (first + tries) % workerIds);
    if (stretch) return stretch;
  }
  throw serviceError('WORKER_ID_UNAVAILABLE', `all ${workerIds} worker ids are taken`);
}
