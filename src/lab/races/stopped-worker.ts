/** Stops the process that consumes the orders of one race, and lets it go on. */
import type { Redis } from 'ioredis';
import { keptSeconds, raceKeys, workerLane } from './race-keys.ts';
import { resumeLane } from './resume-lane.ts';

/** From now on the orders of this race stop the process that consumes them. */
export async function armWorker(redis: Redis, race: string): Promise<void> {
  await redis.set(raceKeys.armed(race), '1', 'EX', keptSeconds);
}

/** No process stops any more. One that stands at a checkpoint stays there. */
export async function disarmWorker(redis: Redis, race: string): Promise<void> {
  await redis.del(raceKeys.armed(race));
}

/** It stops no more, and resumes where it is. */
export async function freeWorker(redis: Redis, race: string): Promise<void> {
  await disarmWorker(redis, race);
  await resumeLane(redis, race, workerLane);
}
