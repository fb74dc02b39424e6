/** A lane reports the checkpoint that it has reached, and waits there for the player. */
import type { Redis } from 'ioredis';
import type { Order } from '../../service/domain.ts';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import { record } from '../../service/trace/history.ts';
import { type Arrival, keptSeconds, laneKeys } from '../stage/lane-messages.ts';

/** A paused lane looks so often whether its player is still there. */
const lookAfterSeconds = 5;

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
  const own = { instance, pid: process.pid, orderId: order?.id };
  const arrival: Arrival = { lane: name, checkpoint, ...own, at };
  const arrivals = laneKeys.arrivals(race);
  await redis.multi().rpush(arrivals, JSON.stringify(arrival)).expire(arrivals, keptSeconds).exec();
  await untilResumed(redis, race, name);
  if (order) record('resumed', order, { checkpoint });
}

/** Or until the player has crashed. */
async function untilResumed(redis: Redis, race: string, lane: string): Promise<void> {
  const isResumed = () => redis.blpop(laneKeys.resume(race, lane), lookAfterSeconds);
  while ((await isResumed()) === null)
    if ((await redis.exists(laneKeys.present(race))) === 0) return;
}
