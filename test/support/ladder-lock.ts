/** Opens a lock of the ladder by the name of a rung that has it, and acquires it. */
import { expect, onTestFinished } from 'vitest';
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

export function releasedLater(lease: Lease): Lease {
  onTestFinished(() => lease.release().catch(() => {}));
  return lease;
}

/** Released when the test is over. An assertion fails when it is not free in time. */
export async function held(
  lock: Lock,
  resource: string,
  options: Partial<AcquireOptions> = {},
): Promise<Lease> {
  const lease = await lock.acquire(resource, { waitMs: 5_000, ...options });
  expect(lease, `the lock on ${resource}, in time`).not.toBeNull();
  return releasedLater(lease as Lease);
}
