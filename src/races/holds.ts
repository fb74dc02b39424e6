/**
 * Holds: who passes a checkpoint as the n-th of a sale waits there, for a time or until another request gets to another
 * checkpoint. A rush with a hold shows a race that the same rush shows by luck alone.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { type CheckpointName, checkpointNames } from '../checkpoints.ts';
import type { Order } from '../domain.ts';

export interface Hold {
  readonly at: CheckpointName;
  /** Which passer is held; the first is 1. */
  readonly nth: number;
  /** How long, in milliseconds; or which checkpoint another request must have reached. */
  readonly until: number | CheckpointName;
}

/** What is never reached ends the hold at last, before the client has stopped waiting. */
const patienceSeconds = 15;
const keptSeconds = 120;
const pattern = /^([a-z-]+):([1-9]\d{0,5}):(\d{1,5}|[a-z-]+)$/;

export const holdFormat = `A hold is checkpoint:nth:milliseconds or checkpoint:nth:checkpoint, as in after-check:1:500; the checkpoints are ${checkpointNames.join(', ')}.`;

/** `after-check:1:500` holds the first for 500 ms; `after-check:1:before-commit` until another gets there; else null. */
export function parseHold(text: string): Hold | null {
  const [, at = '', nth, end = ''] = pattern.exec(text.trim()) ?? [];
  const until = /^\d+$/.test(end) ? Number(end) : end;
  if (!isCheckpoint(at) || !(typeof until === 'number' || isCheckpoint(until))) return null;
  return { at, nth: Number(nth), until };
}

const isCheckpoint = (name: string): name is CheckpointName =>
  checkpointNames.some((known) => known === name);

/** `block` makes a connection that may be kept waiting. */
export function holdPassers(redis: Redis, block: () => Redis) {
  /** Tells those who wait for this checkpoint, then waits here for as long as a hold says. */
  return async (checkpoint: CheckpointName, order: Order, holds: readonly Hold[]): Promise<void> => {
    const counts = `holds:${order.voucherId}`;
    const reached = ({ at, nth }: Hold) => `${counts}:${at}:${nth}`;
    for (const hold of holds) if (hold.until === checkpoint) await tell(redis, reached(hold), order.id);
    if (!holds.some(({ at }) => at === checkpoint)) return;
    const passed = await redis.hincrby(counts, checkpoint, 1);
    await redis.expire(counts, keptSeconds);
    const hold = holds.find(({ at, nth }) => at === checkpoint && nth === passed);
    if (typeof hold?.until === 'number') await sleep(hold.until);
    else if (hold) await untilReached(block(), reached(hold), order.id);
  };
}

async function tell(redis: Redis, key: string, by: string): Promise<void> {
  await redis.rpush(key, by);
  await redis.expire(key, keptSeconds);
}

/** By another: it may have been there itself. */
async function untilReached(redis: Redis, key: string, self: string): Promise<void> {
  redis.on('error', () => {});
  try {
    for (let by: string | undefined = self; by === self; )
      by = (await redis.blpop(key, patienceSeconds))?.[1];
  } finally {
    redis.disconnect();
  }
}
