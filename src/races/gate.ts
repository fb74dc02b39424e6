/**
 * The service's side of races and holds, in the lab only. A request that carries `X-Lab-Lane: <race>:<lane>` says so at
 * every checkpoint it passes, and waits there until the player lets it go on. One that carries `X-Lab-Holds` waits where
 * these holds say.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { MiddlewareHandler } from 'hono';
import type { Redis } from 'ioredis';
import { type CheckpointName, installGate } from '../checkpoints.ts';
import type { Connections } from '../connections/connections.ts';
import { about, record } from '../history.ts';
import { problem } from '../http/problems.ts';
import { type Hold, holdFormat, holdPassers, parseHold } from './holds.ts';
import { type Arrival, raceKeys } from './keys.ts';

interface Passer {
  readonly holds: readonly Hold[];
  readonly lane?: { readonly race: string; readonly name: string; readonly redis: Redis };
}

/** A lane that nobody lets go on is let go at last, so that a player that died leaves nothing waiting. */
const patienceSeconds = 60;

export function labGate(connections: Connections, instance: string): MiddlewareHandler {
  const passers = new AsyncLocalStorage<Passer>();
  /** A connection of its own for whoever waits: waiting blocks it. */
  const block = () => connections.redis('consumer').duplicate();
  const hold = holdPassers(connections.redis('admin'), block);

  installGate(async (checkpoint, order) => {
    if (order) record({ event: 'checkpoint', checkpoint, ...about(order) });
    const { lane, holds = [] } = passers.getStore() ?? {};
    try {
      if (lane) await meetPlayer(lane, checkpoint, instance);
      if (order && holds.length > 0) await hold(order, checkpoint, holds);
    } catch {
      // Where the player cannot be reached, nobody is held.
    }
  });

  return async (c, next) => {
    const [race, name] = (c.req.header('x-lab-lane') ?? '').split(':');
    const asked = (c.req.header('x-lab-holds') ?? '').split(',').filter(Boolean).map(parseHold);
    const holds = asked.filter((hold) => hold !== null);
    if (holds.length < asked.length) return problem(c, 'invalid-request', holdFormat);
    if (!race || !name) return holds.length > 0 ? passers.run({ holds }, next) : next();
    const redis = block();
    redis.on('error', () => {});
    try {
      await passers.run({ holds, lane: { race, name, redis } }, next);
    } finally {
      redis.disconnect();
    }
  };
}

async function meetPlayer(
  { race, name, redis }: NonNullable<Passer['lane']>,
  checkpoint: CheckpointName,
  instance: string,
): Promise<void> {
  const at = String(process.hrtime.bigint());
  const arrival: Arrival = { lane: name, checkpoint, instance, pid: process.pid, at };
  await redis.rpush(raceKeys.arrivals(race), JSON.stringify(arrival));
  await redis.blpop(raceKeys.goOn(race, name), patienceSeconds);
}
