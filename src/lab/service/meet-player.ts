/** A lane reports the checkpoint that it has reached, and waits there for the player. */
import type { Redis } from 'ioredis';
import type { Order } from '../../domain.ts';
import type { CheckpointName } from '../../trace/checkpoints.ts';
import { record } from '../../trace/history.ts';
import { type Arrival, keptSeconds, laneKeys } from '../stage/lane-messages.ts';

/** A paused lane resumes after this time if the player crashed. */
const patienceSeconds = 60;

export interface Lane {
  readonly race: string;
  readonly name: string;
  /** Its own connection: it is blocked here. */
  readonly redis: Redis;
}

export async function meetPlayer(
  { race, name, redis }: Lane,
  checkpoint: CheckpointName,
  instance: string,
  order: Order | undefined,
): Promise<void> {
  const at = String(process.hrtime.bigint());
  const arrival: Arrival = { lane: name, checkpoint, instance, pid: process.pid, at };
  const arrivals = laneKeys.arrivals(race);
  await redis.multi().rpush(arrivals, JSON.stringify(arrival)).expire(arrivals, keptSeconds).exec();
  await redis.blpop(laneKeys.resume(race, name), patienceSeconds);
  if (order) record('resumed', order, { checkpoint });
}
