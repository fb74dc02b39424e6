/** A lane that is paused at a checkpoint goes on from there. */
import type { Redis } from 'ioredis';
import { keptSeconds, raceKeys } from './race-keys.ts';

/** The message expires, because the process of a killed lane never takes it. */
export async function resumeLane(redis: Redis, race: string, lane: string): Promise<void> {
  const key = raceKeys.resume(race, lane);
  await redis.multi().rpush(key, 'resume').expire(key, keptSeconds).exec();
}
