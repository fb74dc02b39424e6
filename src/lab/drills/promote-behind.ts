/**
 * The replica that was cut off is promoted, without what was written since; the other one has it.
 * Of replicas that answer, the Sentinels could choose either: the other one is paused meanwhile.
 */
import { follow } from '../environment/replication.ts';
import type { Undo } from '../faults/fault.ts';
import { killServer, pauseServer } from '../faults/process.ts';
import { cutReplica } from '../faults/redis.ts';
import type { Stage } from '../stage/stage.ts';

const withinMs = 30_000;

/** @returns what promotes it. */
export async function cutPreferred(stage: Stage): Promise<() => Promise<void>> {
  const joinAgain = await stage.inject(cutReplica('redis-replica'));
  return () => promote(stage, joinAgain);
}

async function promote(stage: Stage, joinAgain: Undo): Promise<void> {
  const { lab } = stage;
  const restart = await stage.inject(killServer('redis-main'));
  const resume = await stage.inject(pauseServer('redis-replica-2'));
  await joinAgain();
  const network = lab.network('sentinel');
  await stage.until('the promotion', withinMs, () => network.isMaster('redis-replica'));
  await resume();
  await restart();
  for (const name of ['redis-main', 'redis-replica-2'])
    await follow(lab.portOf(name), lab.portOf('redis-replica'));
}
