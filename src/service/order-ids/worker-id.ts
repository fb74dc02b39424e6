/**
 * A worker id is leased as a stretch of timestamps: until its end, no other process may use these
 * timestamps with this worker id. The end is stored for ever, and the next owner begins only when
 * its own clock has passed the stored end. So two owners can never make the same id: not when a
 * clock is wrong, not when one starts right after the other, and not when the first is paused and
 * resumes, because its stretch is still reserved for it. A lease with an expiry in Redis would not
 * give this: it says nothing about the timestamps that its owner has used.
 */

import { randomInt, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { loadScript, runScript } from '../connections/scripts.ts';
import { serviceError } from '../errors.ts';

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

export interface WorkerIdLease {
  /** Undefined while this process has no worker id. */
  readonly stretch: Stretch | undefined;
  renew(): Promise<void>;
}

interface Owner {
  readonly redis: Redis;
  readonly name: string;
  readonly stretchMs: number;
  readonly now: () => number;
}

/** @throws WORKER_ID_UNAVAILABLE when all worker ids are taken. */
export async function leaseWorkerId(
  redis: Redis,
  log: Logger,
  stretchMs: number,
  now: () => number,
): Promise<WorkerIdLease> {
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
