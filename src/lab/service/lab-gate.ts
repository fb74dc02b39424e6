/**
 * The service's side of races and pauses, in the lab only. A request with `X-Lab-Lane:
 * <race>:<lane>` reports every checkpoint that it reaches, and waits there until the player resumes
 * it. A request with `X-Lab-Pauses` waits at the checkpoints of these pauses. A request with
 * `X-Lab-Forget: release` never releases its lock. Without a valid token these headers do nothing.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { MiddlewareHandler } from 'hono';
import type { Redis } from 'ioredis';
import type { Connections } from '../../connections/connections.ts';
import { problem } from '../../http/problems.ts';
import { claimsOf } from '../../http/tokens.ts';
import { type CheckpointName, installGate } from '../../trace/checkpoints.ts';
import { about, record } from '../../trace/history.ts';
import { type Pause, parsePause, pauseFormat, pauseRequests } from '../races/pauses.ts';
import { type Arrival, keptSeconds, raceKeys } from '../races/race-keys.ts';

interface LabRequest {
  readonly pauses: readonly Pause[];
  readonly lane?: { readonly race: string; readonly name: string; readonly redis: Redis };
  readonly forgetsRelease: boolean;
}

const labHeaders = ['x-lab-lane', 'x-lab-pauses', 'x-lab-forget'] as const;

/** A paused request resumes after this time if the player crashed. */
const patienceSeconds = 60;

export function labGate(connections: Connections, instance: string): MiddlewareHandler {
  const requests = new AsyncLocalStorage<LabRequest>();
  /** A paused request blocks its connection, so it gets its own. */
  const block = () => connections.newRedis('consumer');
  const pause = pauseRequests(connections.redis('admin'), block);

  installGate(async (checkpoint, order) => {
    if (order) record({ event: 'checkpoint', checkpoint, ...about(order) });
    const request = requests.getStore();
    if (!request) return;
    try {
      if (request.lane) await meetPlayer(request.lane, checkpoint, instance);
      if (order && request.pauses.length > 0) await pause(order, checkpoint, request.pauses);
    } catch {
      // The player cannot be reached: the request continues.
    }
    if (request.forgetsRelease && checkpoint === 'before-release')
      throw new Error('the release is forgotten');
  });

  return async (c, next) => {
    const isOfLab = labHeaders.some((header) => c.req.header(header));
    const { TOKEN_SECRET } = connections.config;
    if (!isOfLab || !(await claimsOf(c.req.header('authorization'), TOKEN_SECRET))) return next();
    const [race, name] = (c.req.header('x-lab-lane') ?? '').split(':');
    const texts = (c.req.header('x-lab-pauses') ?? '').split(',').filter(Boolean);
    const pauses = texts.map(parsePause).filter((parsed) => parsed !== null);
    if (pauses.length < texts.length) return problem(c, 'invalid-request', pauseFormat);
    const forgetsRelease = c.req.header('x-lab-forget') === 'release';
    if (!race || !name) return requests.run({ pauses, forgetsRelease }, next);
    const redis = block();
    try {
      await requests.run({ pauses, forgetsRelease, lane: { race, name, redis } }, next);
    } finally {
      redis.disconnect();
    }
  };
}

async function meetPlayer(
  { race, name, redis }: NonNullable<LabRequest['lane']>,
  checkpoint: CheckpointName,
  instance: string,
): Promise<void> {
  const at = String(process.hrtime.bigint());
  const arrival: Arrival = { lane: name, checkpoint, instance, pid: process.pid, at };
  const arrivals = raceKeys.arrivals(race);
  await redis.multi().rpush(arrivals, JSON.stringify(arrival)).expire(arrivals, keptSeconds).exec();
  await redis.blpop(raceKeys.resume(race, name), patienceSeconds);
}
