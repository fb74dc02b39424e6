/**
 * Lanes meet their player, in the lab only: a purchase or a worker waits at a checkpoint. The
 * context of the request does not reach a worker, so the order itself says whose it is: its request
 * id is `<player>-<lane>`. While the player has armed the worker, the process that consumes the
 * order reports every checkpoint, and waits there.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Connections } from '../../service/connections/connections.ts';
import type { Order } from '../../service/domain.ts';
import { type CheckpointName, type Gate, installGate } from '../../service/trace/checkpoints.ts';
import { record } from '../../service/trace/history.ts';
import { workersAway } from '../environment/servers/service.ts';
import { type Arrival, keptSeconds, laneKeys, workerLane } from '../stage/lane-messages.ts';

const ofWorkers: readonly CheckpointName[] = ['delivered', 'recording', 'recorded'];
export const isOfWorkers = (name: CheckpointName): boolean => ofWorkers.includes(name);
const playerOf = /^([0-9a-f-]{36})-[A-Z]$/;

/** For an order worker: its only gate. */
export const installWorkerGate = (connections: Connections, instance: string): void =>
  installGate(meetAsWorker(connections, instance));

/** For every process that may consume a queue. */
export function meetAsWorker(connections: Connections, instance: string): Gate {
  const lab = connections.labRedis();
  return async (checkpoint, order) => {
    const player = playerOf.exec(order?.requestId ?? '')?.[1];
    if (!order || !player || !isOfWorkers(checkpoint)) return;
    const isArmed = await lab.exists(laneKeys.armed(player)).catch(() => 0);
    if (isArmed === 0) return;
    record('checkpoint', order, { checkpoint });
    const redis = connections.newLabRedis();
    try {
      await meetPlayer({ player, name: workerLane, redis }, checkpoint, instance, order);
    } catch {
      // The player cannot be reached: the worker continues.
    } finally {
      redis.disconnect();
    }
  };
}

/**
 * A fault may keep the workers away: a new one waits here before it consumes. Only an answer lets
 * it go: its connection may not be open yet.
 */
export async function untilWorkersMayStart(
  connections: Connections,
  stop: AbortSignal,
): Promise<void> {
  const lab = connections.labRedis();
  const mayStart = async () => (await lab.exists(workersAway.key).catch(() => 1)) === 0;
  while (!stop.aborted && !(await mayStart())) await sleep(20);
}

/** A paused lane looks so often whether its player is still there. */
const lookAfterSeconds = 5;

export interface LaneConnection {
  readonly player: string;
  readonly name: string;
  /** Its own: it is blocked while the lane waits. */
  readonly redis: Redis;
}

/** A lane reports the checkpoint that it has reached, and waits there for the player. */
export async function meetPlayer(
  { player, name, redis }: LaneConnection,
  checkpoint: CheckpointName,
  instance: string,
  order: Order | undefined,
): Promise<void> {
  const at = String(process.hrtime.bigint());
  const own = { instance, pid: process.pid, orderId: order?.id };
  const arrival: Arrival = { lane: name, checkpoint, ...own, at };
  const arrivals = laneKeys.arrivals(player);
  await redis.multi().rpush(arrivals, JSON.stringify(arrival)).expire(arrivals, keptSeconds).exec();
  await untilResumed(redis, player, name);
  if (order) record('resumed', order, { checkpoint });
}

/** Or until the player has crashed. */
async function untilResumed(redis: Redis, player: string, lane: string): Promise<void> {
  const isResumed = () => redis.blpop(laneKeys.resume(player, lane), lookAfterSeconds);
  while ((await isResumed()) === null)
    if ((await redis.exists(laneKeys.present(player))) === 0) return;
}
