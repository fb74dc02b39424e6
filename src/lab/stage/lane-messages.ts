/** The messages between the player and the service, through Redis. */
import type { Redis } from 'ioredis';
import type { CheckpointName } from '../../trace/checkpoints.ts';

export interface Arrival {
  readonly lane: string;
  readonly checkpoint: CheckpointName;
  readonly instance: string;
  readonly pid: number;
  /** Nanoseconds of the machine's monotonic clock. */
  readonly at: string;
}

/** Longer than a request is paused: a player leaves nothing in Redis. */
export const keptSeconds = 120;

/** The lane of the process that consumes the queue. */
export const workerLane = 'W';

export const laneKeys = {
  /** STRING: the orders of this player stop the process that consumes them. */
  armed: (player: string) => `race:${player}:armed`,
  /** LIST of arrivals, in order. */
  arrivals: (player: string) => `race:${player}:arrivals`,
  /** LIST: one element resumes the lane once. */
  resume: (player: string, lane: string) => `race:${player}:resume:${lane}`,
} as const;

/** The message expires, because the process of a killed lane never takes it. */
export async function resumeLane(redis: Redis, player: string, lane: string): Promise<void> {
  const key = laneKeys.resume(player, lane);
  await redis.multi().rpush(key, 'resume').expire(key, keptSeconds).exec();
}

/** From now on the orders of this player stop the process that consumes them. */
export async function armWorker(redis: Redis, player: string): Promise<void> {
  await redis.set(laneKeys.armed(player), '1', 'EX', keptSeconds);
}

/** No process stops any more. One that stands at a checkpoint stays there. */
export async function disarmWorker(redis: Redis, player: string): Promise<void> {
  await redis.del(laneKeys.armed(player));
}
