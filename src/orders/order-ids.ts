/**
 * Order ids: 64-bit snowflakes (42 bits of milliseconds, 10 of worker id, 12 of sequence), as decimal strings.
 * The worker id is leased in Redis, so that no two processes ever make ids with the same one.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { Snowflake } from '@sapphire/snowflake';
import type { Redis } from 'ioredis';
import { loadScript, runScript } from '../connections/scripts.ts';
import { WorkerIdUnavailable } from '../errors.ts';

const epoch = new Date('2026-01-01T00:00:00Z');
const workerIds = 1024;
const sequences = 4096;
const leaseMs = 60_000;
const renewIfOwner = loadScript('renew-if-owner');

/** Ascending within a process, also when the clock steps back: then it stands still, and the sequence carries on. */
export function snowflakes(workerId: number, now: () => number = Date.now): () => string {
  const layout = new Snowflake(epoch);
  let timestamp = 0;
  let increment = 0;
  return () => {
    increment += 1;
    if (increment === sequences) timestamp += 1;
    const latest = Math.max(timestamp, now());
    if (latest > timestamp || increment === sequences) increment = 0;
    timestamp = latest;
    const [high, low] = [BigInt(workerId >> 5), BigInt(workerId & 31)];
    return layout
      .generate({ timestamp, workerId: high, processId: low, increment: BigInt(increment) })
      .toString();
  };
}

export interface OrderIds {
  /** @throws WorkerIdUnavailable once the lease of the worker id has ended. */
  next(): string;
  /** Stops the renewal. The worker id is not handed back: it stays out of use until its lease ends. */
  close(): void;
}

/** @throws WorkerIdUnavailable when all worker ids are taken. */
export async function leaseOrderIds(redis: Redis): Promise<OrderIds> {
  const owner = randomUUID();
  let goodUntil = performance.now() + leaseMs;
  const workerId = await leaseWorkerId(redis, owner);
  const key = workerKey(workerId);
  const renewal = setInterval(async () => {
    const askedAt = performance.now();
    const answer = await runScript(redis, renewIfOwner, [key], [owner, String(leaseMs)]).catch(
      () => 'no-answer',
    );
    if (answer === 'renewed') goodUntil = askedAt + leaseMs;
    if (answer === 'not-yours') goodUntil = 0;
  }, leaseMs / 6).unref();
  const nextId = snowflakes(workerId);
  const next = () => {
    if (performance.now() < goodUntil) return nextId();
    throw new WorkerIdUnavailable(`the lease of worker id ${workerId} has ended`);
  };
  return { next, close: () => clearInterval(renewal) };
}

const workerKey = (id: number) => `lockstep:worker-id:${id}`;

async function leaseWorkerId(redis: Redis, owner: string): Promise<number> {
  const first = randomInt(workerIds);
  for (let tries = 0; tries < workerIds; tries++) {
    const workerId = (first + tries) % workerIds;
    if ((await redis.set(workerKey(workerId), owner, 'PX', leaseMs, 'NX')) === 'OK') return workerId;
  }
  throw new WorkerIdUnavailable(`all ${workerIds} worker ids are leased`);
}
