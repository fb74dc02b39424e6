/**
 * The worker's side of races, in the lab only. The context of the request does not reach a worker,
 * so the order itself says which race it belongs to: its request id is `<race>-<lane>`. While the
 * race is armed, the process that consumes it reports every checkpoint, and waits there.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connections } from '../../connections/connections.ts';
import { whenReady } from '../../connections/redis.ts';
import { type CheckpointName, type Gate, installGate } from '../../trace/checkpoints.ts';
import { record } from '../../trace/history.ts';
import { workersAway } from '../environment/workers-away.ts';
import { raceKeys, workerLane } from '../races/race-keys.ts';
import { meetPlayer } from './meet-player.ts';

const ofWorkers: readonly CheckpointName[] = ['delivered', 'recording', 'recorded'];
export const isOfWorkers = (name: CheckpointName): boolean => ofWorkers.includes(name);
const raceOf = /^([0-9a-f-]{36})-[A-Z]$/;

/** For an order worker: its only gate. */
export function installWorkerGate(connections: Connections, instance: string): void {
  const meet = meetAsWorker(connections, instance);
  installGate(async (checkpoint, order) => {
    if (checkpoint === 'consuming') await untilWorkersMayStart(connections);
    else await meet(checkpoint, order);
  });
}

/** For every process that may consume a queue. */
export function meetAsWorker(connections: Connections, instance: string): Gate {
  const lab = connections.labRedis();
  return async (checkpoint, order) => {
    const race = raceOf.exec(order?.requestId ?? '')?.[1];
    if (!order || !race || !isOfWorkers(checkpoint)) return;
    const isArmed = await lab.exists(raceKeys.armed(race)).catch(() => 0);
    if (isArmed === 0) return;
    record('checkpoint', order, { checkpoint });
    const redis = connections.newLabRedis();
    try {
      await meetPlayer({ race, name: workerLane, redis }, checkpoint, instance, order);
    } catch {
      // The player cannot be reached: the worker continues.
    } finally {
      redis.disconnect();
    }
  };
}

/** A fault may keep the workers away: a new one waits here before it consumes. */
async function untilWorkersMayStart(connections: Connections): Promise<void> {
  const lab = connections.labRedis();
  await whenReady(lab, 2_000); // Its first command would be refused before.
  while ((await lab.exists(workersAway.key).catch(() => 0)) === 1) await sleep(20);
}
