/**
 * A worker id is leased as a stretch of time: until its end, and by the clock that makes the ids, nobody else uses these
 * timestamps with this worker id. The end is kept for good, and the next holder may begin only when its own clock has
 * passed it. So two holders can never make the same id, whichever of their clocks is wrong, however quickly one follows
 * the other, and though the first is paused and wakes: its stretch is still its own. A lease that Redis alone timed
 * would say nothing about the timestamps that were used.
 */

import { randomInt, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { loadScript, runScript } from '../connections/scripts.ts';
import { WorkerIdUnavailable } from '../errors.ts';

export const workerIds = 1024;
/** HASH worker id → `end of its stretch in ms:owner` */
export const workerIdsKey = 'lockstep:worker-ids';

const reserveStretch = loadScript('ids/reserve-worker-id');

export interface Stretch {
  readonly workerId: number;
  readonly fromMs: number;
  /** Not included. */
  readonly untilMs: number;
}

export interface WorkerIdLease {
  /** Not there while no worker id can be had. */
  readonly stretch: Stretch | undefined;
  renew(): Promise<void>;
}

/** @throws WorkerIdUnavailable when all worker ids are taken. */
export async function leaseWorkerId(
  redis: Redis,
  log: Logger,
  stretchMs: number,
  now: () => number,
): Promise<WorkerIdLease> {
  const owner = randomUUID();

  /** It never begins earlier than before, also when the clock is put back: an earlier holder's timestamps are there. */
  const reserve = async (workerId: number, earlier?: Stretch): Promise<Stretch | undefined> => {
    const fromMs = Math.max(now(), earlier?.fromMs ?? 0);
    const untilMs = fromMs + stretchMs;
    const args = [String(workerId), owner, String(fromMs), String(untilMs)];
    const answer = await runScript(redis, reserveStretch, [workerIdsKey], args);
    return answer === 'reserved' ? { workerId, fromMs, untilMs } : undefined;
  };

  const reserveFree = async (): Promise<Stretch> => {
    const first = randomInt(workerIds);
    for (let tries = 0; tries < workerIds; tries++) {
      const stretch = await reserve((first + tries) % workerIds);
      if (stretch) return stretch;
    }
    throw new WorkerIdUnavailable(`all ${workerIds} worker ids are taken`);
  };

  let stretch: Stretch | undefined = await reserveFree();

  const renew = async () => {
    if (stretch) {
      const { workerId } = stretch;
      stretch = await reserve(workerId, stretch);
      if (!stretch) log.warn({ event: 'worker-id-taken-over', workerId });
    }
    stretch ??= await reserveFree();
  };

  return {
    get stretch() {
      return stretch;
    },
    renew,
  };
}
