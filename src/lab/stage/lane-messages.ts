/** The messages between the player and the service, through Redis. */
import type { Redis } from 'ioredis';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';

export interface Arrival {
  readonly lane: string;
  readonly checkpoint: CheckpointName;
  readonly instance: string;
  readonly pid: number;
  /** Of the purchase that reached it. */
  readonly orderId?: string | undefined;
  /** Nanoseconds of the machine's monotonic clock. */
  readonly at: string;
}

/** A message that nobody takes: a player leaves nothing in Redis. */
export const keptSeconds = 120;
/** A player without a sign of life for this time has crashed. */
const presentSeconds = 15;

/** The lane of the process that consumes the queue. */
export const workerLane = 'W';

export const laneKeys = {
  /** STRING: the orders of this player stop the process that consumes them. */
  armed: (player: string) => `race:${player}:armed`,
  /** LIST of arrivals, in order. */
  arrivals: (player: string) => `race:${player}:arrivals`,
  /** STRING: the player is there. */
  present: (player: string) => `race:${player}:present`,
  /** LIST: one element resumes the lane once. */
  resume: (player: string, lane: string) => `race:${player}:resume:${lane}`,
} as const;

/** Says again and again that the player is there. @returns what ends it */
export function stayPresent(redis: Redis, player: string): () => void {
  const say = () =>
    redis
      .multi()
      .set(laneKeys.present(player), '1', 'EX', presentSeconds)
      .expire(laneKeys.armed(player), keptSeconds)
      .exec();
  const sayIt = () => void say().catch(() => {}); // Then the player cannot resume a lane, either.
  sayIt();
  const saying = setInterval(sayIt, presentSeconds * 300).unref();
  return () => clearInterval(saying);
}
