/** Opens a lock of the ladder by the name of a rung that has it, and acquires it. */
import { onTestFinished } from 'vitest';
import type { Connections } from '../../src/service/connections/connections.ts';
import type { RungName } from '../../src/service/ladder/rungs.ts';
import { rungNamed } from '../../src/service/ladder/rungs.ts';
import type { AcquireOptions, Lease, Lock } from '../../src/service/locks/lock.ts';
import { testConnections } from './connections.ts';

export function ladderLock(rung: RungName, connections: Connections): Lock {
  const { lock } = rungNamed(rung);
  if (!lock) throw new Error(`${rung} has no lock`);
  return lock(connections);
}

export interface OpenLock {
  readonly lock: Lock;
  readonly connections: Connections;
}

/** On connections of its own, as in a process of its own; closed when the test is over. */
export async function openLock(
  rung: RungName,
  changes: Readonly<Record<string, string>> = {},
): Promise<OpenLock> {
  const connections = testConnections(changes);
  const lock = ladderLock(rung, connections);
  await connections.ready();
  return { lock, connections };
}

/** Released when the test is over. @throws when it was not to be had in time */
export async function held(
  lock: Lock,
  resource: string,
  options: Partial<AcquireOptions> = {},
): Promise<Lease> {
  const lease = await lock.acquire(resource, { waitMs: 5_000, ...options });
  if (!lease) throw new Error(`the lock on ${resource} was not free in time`);
  onTestFinished(() => lease.release().catch(() => {}));
  return lease;
}
