/**
 * Order ids as snowflakes: 42 bits of milliseconds since 2026, 10 of worker id, 12 of sequence. Made in memory; Redis is
 * asked for the worker id alone (see worker-id.ts).
 */

import { Snowflake } from '@sapphire/snowflake';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { WorkerIdUnavailable } from '../errors.ts';
import { watchClock } from './clock.ts';
import type { OrderIds } from './order-ids.ts';
import { leaseWorkerId, type Stretch } from './worker-id.ts';

const epochMs = Date.UTC(2026, 0, 1);
const layout = new Snowflake(epochMs);
const sequences = 4096;

/** Ascending, also when the worker id changes or the clock steps back: a millisecond is never gone back to. */
export function snowflakes(
  reserved: () => Stretch | undefined,
  log: Logger,
  now: () => number = Date.now,
): () => string {
  const checkClock = watchClock(log);
  let timestampMs = 0;
  let sequence = 0;
  let workerId = -1;
  return () => {
    const stretch = reserved();
    if (!stretch)
      throw new WorkerIdUnavailable('the worker id was taken over, and there is no other');
    const changed = stretch.workerId !== workerId;
    const full = sequence === sequences - 1;
    // A sequence that is used up borrows the next millisecond, and so does a new worker id: it may be a lower one.
    const earliestMs = Math.max(
      changed || full ? timestampMs + 1 : timestampMs,
      stretch.fromMs,
      epochMs,
    );
    const clockMs = now();
    checkClock(clockMs, earliestMs);
    const nextMs = Math.max(earliestMs, clockMs);
    if (nextMs >= stretch.untilMs)
      throw new WorkerIdUnavailable(`the lease of worker id ${stretch.workerId} is over`);
    sequence = nextMs > timestampMs ? 0 : sequence + 1;
    timestampMs = nextMs;
    workerId = stretch.workerId;
    return compose(timestampMs, workerId, sequence);
  };
}

/** The library splits the ten bits in two, five of worker and five of process: here they are one number. */
const compose = (timestamp: number, workerId: number, sequence: number): string =>
  layout
    .generate({
      timestamp,
      workerId: BigInt(workerId >> 5),
      processId: BigInt(workerId & 31),
      increment: BigInt(sequence),
    })
    .toString();

export interface SnowflakeOptions {
  /** How far ahead timestamps are reserved: so long can Redis be away, and so long is a worker id out of use. */
  readonly stretchMs?: number;
  readonly now?: () => number;
}

/** @throws WorkerIdUnavailable when all worker ids are taken. */
export async function openSnowflakes(
  redis: Redis,
  log: Logger,
  { stretchMs = 60_000, now = Date.now }: SnowflakeOptions = {},
): Promise<OrderIds> {
  const lease = await leaseWorkerId(redis, log, stretchMs, now);
  let renewing = false;
  const renew = async () => {
    if (renewing) return;
    renewing = true;
    await lease
      .renew()
      .catch((error) => log.warn({ event: 'worker-id-not-renewed', error: String(error) }));
    renewing = false;
  };
  const renewal = setInterval(renew, stretchMs / 6).unref();
  // The worker id is not handed back: its timestamps stay reserved until the clock has passed them.
  return { next: snowflakes(() => lease.stretch, log, now), close: () => clearInterval(renewal) };
}
