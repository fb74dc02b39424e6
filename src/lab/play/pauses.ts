/**
 * Pauses in a rush: the n-th request that reaches a checkpoint waits there, for a time or until
 * another request reaches another checkpoint. So a rush shows a race every time that it would show
 * by luck only.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Order } from '../../service/domain.ts';
import { type CheckpointName, checkpointNames } from '../../service/trace/checkpoints.ts';
import { record } from '../../service/trace/history.ts';
import { keptSeconds } from '../stage/lane-messages.ts';

export interface Pause {
  readonly at: CheckpointName;
  /** Which request is paused; the first is 1. */
  readonly nth: number;
  /** For how long, in milliseconds; or until another request reaches this checkpoint. */
  readonly until: number | CheckpointName;
}

/** A pause until a checkpoint that no request reaches ends before the client times out. */
const patienceSeconds = 15;
const pattern = /^([a-z-]+):([1-9]\d{0,5}):(\d{1,5}|[a-z-]+)$/;

export const pauseFormat = `A pause is checkpoint:nth:milliseconds or checkpoint:nth:checkpoint, as in after-check:1:500; the checkpoints are ${checkpointNames.join(', ')}.`;

/**
 * `after-check:1:500` pauses the first for 500 ms; `after-check:1:before-commit` until another is
 * there; else null.
 */
export function parsePause(text: string): Pause | null {
  const [, at = '', nth, end = ''] = pattern.exec(text.trim()) ?? [];
  const until = /^\d+$/.test(end) ? Number(end) : end;
  if (!isCheckpoint(at) || !(typeof until === 'number' || isCheckpoint(until))) return null;
  return { at, nth: Number(nth), until };
}

/** The text that `parsePause` reads. */
export const pauseText = ({ at, nth, until }: Pause): string => `${at}:${nth}:${until}`;

const isCheckpoint = (name: string): name is CheckpointName =>
  checkpointNames.some((known) => known === name);

/** `block` makes a connection that may be blocked. */
export function pauseRequests(redis: Redis, block: () => Redis) {
  /**
   * Resumes the requests that wait for this checkpoint, then pauses this one if a pause says so.
   */
  return async (
    order: Order,
    checkpoint: CheckpointName,
    pauses: readonly Pause[],
  ): Promise<void> => {
    const counts = `pauses:${order.voucherId}`;
    const reached = async (at: CheckpointName) => Number(await redis.hget(counts, at));
    for (const { at, nth, until } of pauses)
      if (until === checkpoint && (await reached(at)) >= nth)
        await resume(redis, `${counts}:${at}:${nth}`);
    if (!pauses.some(({ at }) => at === checkpoint)) return;
    const turn = await redis.hincrby(counts, checkpoint, 1);
    await redis.expire(counts, keptSeconds);
    const pause = pauses.find(({ at, nth }) => at === checkpoint && nth === turn);
    if (!pause) return;
    const reason = pauseText(pause);
    record('paused', order, { checkpoint, reason });
    if (typeof pause.until === 'number') await sleep(pause.until);
    else await untilResumed(block(), `${counts}:${checkpoint}:${turn}`);
    record('resumed', order, { checkpoint, reason });
  };
}

async function resume(redis: Redis, key: string): Promise<void> {
  await redis.rpush(key, 'reached');
  await redis.expire(key, keptSeconds);
}

async function untilResumed(redis: Redis, key: string): Promise<void> {
  try {
    await redis.blpop(key, patienceSeconds);
  } finally {
    redis.disconnect();
  }
}
