/** Locks that a server still has although nobody holds them: nobody can buy until they expire. */
import { setTimeout as sleep } from 'node:timers/promises';
import { lockEvents } from '../../service/audit/read-history.ts';
import type { LockService } from '../../service/ladder/rung.ts';
import type { Lab } from '../environment/lab.ts';
import { lockKeys, locksNow } from '../environment/locks-now.ts';

/** A grant or a release that is on its way now has been noted by then. */
const settledMs = 2_000;
const betweenLooksMs = 250;

/**
 * How many resources of this voucher are locked by nobody, on so many servers that nobody can
 * acquire them; null where the locks are not in Redis.
 */
export async function leftLocks(
  lab: Lab,
  voucherId: string,
  service: LockService,
): Promise<number | null> {
  if (!service.servers.every((name) => name.startsWith('redis'))) return null;
  const until = performance.now() + settledMs;
  let left = await lockedByNobody(lab, voucherId, service);
  while (left.size > 0 && performance.now() < until) {
    await sleep(betweenLooksMs);
    const still = await lockedByNobody(lab, voucherId, service);
    left = new Set([...left].filter((each) => still.has(each)));
  }
  return left.size;
}

/** The keys come first: a lock that was granted since has its line in the history. */
async function lockedByNobody(
  lab: Lab,
  voucherId: string,
  { servers, needed }: LockService,
): Promise<Set<string>> {
  const keys = (await lockKeys(lab)).filter(
    ({ server, resource }) =>
      servers.includes(server) && `${resource}:`.startsWith(`voucher:${voucherId}:`),
  );
  const abandoned = locksNow(lockEvents(lab.historyFolder), keys).filter(
    ({ server, holders }) => server !== null && holders.length === 0,
  );
  const blocking = servers.length - needed + 1;
  const byResource = Map.groupBy(abandoned, ({ resource }) => resource);
  return new Set([...byResource].filter(([, on]) => on.length >= blocking).map(([name]) => name));
}
