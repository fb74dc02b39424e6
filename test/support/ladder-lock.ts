/** Opens a lock of the ladder by the name of a rung that has it. */
import type { Connections } from '../../src/connections/connections.ts';
import type { RungName } from '../../src/ladder/rungs.ts';
import { rungNamed } from '../../src/ladder/rungs.ts';
import type { Lock } from '../../src/locks/lock.ts';

export function ladderLock(rung: RungName, connections: Connections): Lock {
  const { lock } = rungNamed(rung);
  if (!lock) throw new Error(`${rung} has no lock`);
  return lock(connections);
}
