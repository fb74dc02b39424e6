/** The columns of the scoreboard: faults that a race plays on a lock, and outages under load. */
import { type Circumstance, circumstances, type Rung } from '../../service/ladder/rung.ts';
import { ladder, type RungName, rungNames } from '../../service/ladder/rungs.ts';
import { texts } from '../../texts/texts.ts';
import type { Away, OutagePlan } from '../drills/lock-outages.ts';
import { lockServiceOf, outagesOf } from '../drills/lock-outages.ts';
import { raceNames, schedules } from '../play/schedules.ts';

/**
 * Every lock that asks servers. A rung that lets a user buy several times shows nothing new: its
 * lock is that of another rung.
 */
export const scoredRungs: readonly RungName[] = rungNames.filter(
  (name) => hasLockServers(name) && ladder[name].onePerUser,
);

function hasLockServers(rung: RungName): boolean {
  const { lockService }: Rung = ladder[rung];
  return lockService !== undefined;
}

const racedOnLocks = new Set<Circumstance>(
  raceNames
    .map((race) => schedules[race])
    .filter(({ rung }) => hasLockServers(rung))
    .map(({ under }) => under),
);

/** The faults of races; a race whose bug is not in such a lock says nothing about locks. */
export const safetyFaults: readonly Circumstance[] = (
  Object.keys(circumstances) as Circumstance[]
).filter((each) => circumstances[each] === 'fault' && racedOnLocks.has(each));

export interface OutageFault {
  readonly name: string;
  readonly count: number;
  readonly away: Away;
}

/** Of the lock servers of a rung. */
export const outageFaults: readonly OutageFault[] = [
  { name: '1-stopped', count: 1, away: 'stopped' },
  { name: '2-stopped', count: 2, away: 'stopped' },
  { name: '3-stopped', count: 3, away: 'stopped' },
  { name: '1-hung', count: 1, away: 'hung' },
  { name: '1-late', count: 1, away: 'late' },
];

export const faultNames: readonly string[] = [
  ...safetyFaults,
  ...outageFaults.map(({ name }) => name),
];

/** undefined where the rung has too few servers. */
export const outagePlanOf = (
  rung: RungName,
  { count, away }: OutageFault,
): OutagePlan | undefined => outagesOf(lockServiceOf(rung), away, 0)[count - 1];

/** One sentence for people. */
export function faultText(fault: string): string {
  const { count, away } = outageFaults.find(({ name }) => name === fault) ?? {};
  if (away === undefined) return texts.en.circumstances[fault as Circumstance];
  if (away === 'late')
    return 'every request to 1 of the lock servers arrives 1.5 s late for a while, also when its sender has given up';
  const servers = count === 1 ? '1 of the lock servers is' : `${count} of the lock servers are`;
  return `${servers} ${away === 'hung' ? 'paused (SIGSTOP)' : 'stopped (SIGTERM)'} for a while`;
}
