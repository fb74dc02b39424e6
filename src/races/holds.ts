/**
 * Holds: who passes a checkpoint as the n-th of a sale waits there, for a time or until another request gets to another
 * checkpoint. A rush with a hold shows a race that the same rush shows by luck alone.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { type CheckpointName, checkpointNames } from '../checkpoints.ts';
import type { Order } from '../domain.ts';
import { about, record } from '../history.ts';

export interface Hold {
  readonly at: CheckpointName;
  /** Which passer is held; the first is 1. */
  readonly nth: number;
  /** How long, in milliseconds; or until another request gets to which checkpoint. */
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

/** As it was written. */
export const holdText = ({ at, nth, until }: Hold): string => `${at}:${nth}:${until}`;

const isCheckpoint = (name: string): name is CheckpointName =>
  checkpointNames.some((known) => known === name);

/** `block` makes a connection that may be kept waiting. */
export function holdPassers(redis: Redis, block: () => Redis) {
  /** Tells those who are held until somebody gets to this checkpoint, then waits here for as long as a hold says. */
  return async (order: Order, checkpoint: CheckpointName, holds: readonly Hold[]): Promise<void> => {
    const counts = `holds:${order.voucherId}`;
    const passed = async (at: CheckpointName) => Number(await redis.hget(counts, at));
    for (const { at, nth, until } of holds)
      if (until === checkpoint && (await passed(at)) >= nth) await tell(redis, `${counts}:${at}:${nth}`);
    if (!holds.some(({ at }) => at === checkpoint)) return;
    const turn = await redis.hincrby(counts, checkpoint, 1);
    await redis.expire(counts, keptSeconds);
    const hold = holds.find(({ at, nth }) => at === checkpoint && nth === turn);
    if (!hold) return;
    const reason = holdText(hold);
    record({ event: 'held', checkpoint, reason, ...about(order) });
    if (typeof hold.until === 'number') await sleep(hold.until);
    else await untilTold(block(), `${counts}:${checkpoint}:${turn}`);
    record({ event: 'let-on', checkpoint, reason, ...about(order) });
  };
}

async function tell(redis: Redis, key: string): Promise<void> {
  await redis.rpush(key, 'reached');
  await redis.expire(key, keptSeconds);
}

async function untilTold(redis: Redis, key: string): Promise<void> {
  redis.on('error', () => {});
  try {
    await redis.blpop(key, patienceSeconds);
  } finally {
    redis.disconnect();
  }
}
