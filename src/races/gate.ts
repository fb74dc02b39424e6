/**
 * The service's side of a race, in the lab only: a request that carries `X-Lab-Lane: <race>:<lane>` says so at every
 * checkpoint it passes, and waits there until the player lets it go on.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { MiddlewareHandler } from 'hono';
import type { Redis } from 'ioredis';
import { type CheckpointName, installGate } from '../checkpoints.ts';
import type { Connections } from '../connections/connections.ts';
import { type Arrival, raceKeys } from './keys.ts';

interface Lane {
  readonly race: string;
  readonly lane: string;
  /** A connection of its own: waiting for the player blocks it. */
  readonly redis: Redis;
}

/** A lane that nobody lets go on is let go at last, so that a player that died leaves nothing waiting. */
const patienceSeconds = 60;

export function raceGate(connections: Connections, instance: string): MiddlewareHandler {
  const lanes = new AsyncLocalStorage<Lane>();

  installGate(async (checkpoint: CheckpointName) => {
    const here = lanes.getStore();
    if (!here) return;
    const arrival: Arrival = {
      lane: here.lane,
      checkpoint,
      instance,
      pid: process.pid,
      at: String(process.hrtime.bigint()),
    };
    await here.redis.rpush(raceKeys.arrivals(here.race), JSON.stringify(arrival));
    await here.redis.blpop(raceKeys.goOn(here.race, here.lane), patienceSeconds);
  });

  return async (c, next) => {
    const [race, lane] = (c.req.header('x-lab-lane') ?? '').split(':');
    if (!race || !lane) return next();
    const redis = connections.redis('consumer').duplicate();
    redis.on('error', () => {});
    try {
      await lanes.run({ race, lane, redis }, next);
    } finally {
      redis.disconnect();
    }
  };
}
