/**
 * The columns of the scoreboard: faults that a race plays on a lock, and outages under load. And
 * what is played for them, in the order in which the service restarts least.
 */
import { type Circumstance, circumstances, type Rung } from '../../service/ladder/rung.ts';
import { ladder, type RungName, rungNames } from '../../service/ladder/rungs.ts';
import { type Language, texts } from '../../texts/texts.ts';
import { allRaces } from '../drills/demo-plan.ts';
import { type Away, lockServiceOf, type OutagePlan, outagesOf } from '../drills/lock-outages.ts';
import type { Network } from '../environment/servers/service.ts';
import { type RaceName, raceNames, schedules } from '../play/schedules.ts';

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

const outageTexts = {
  en: {
    late: 'every request to 1 of the lock servers arrives 1.5 s late for a while, also when its sender has given up',
    stopped: (count: number) => `${lockServers(count)} stopped (SIGTERM) for a while`,
    hung: (count: number) => `${lockServers(count)} paused (SIGSTOP) for a while`,
  },
  zh: {
    late: '一段时间里，发给 1 台锁服务器的请求都晚到 1.5 秒，发送者已经放弃的也一样',
    stopped: (count: number) => `${count} 台锁服务器停止（SIGTERM）一段时间`,
    hung: (count: number) => `${count} 台锁服务器暂停（SIGSTOP）一段时间`,
  },
} as const;

const lockServers = (count: number): string =>
  count === 1 ? '1 of the lock servers is' : `${count} of the lock servers are`;

/** One sentence for people. */
export function faultText(fault: string, language: Language = 'en'): string {
  const { count = 0, away } = outageFaults.find(({ name }) => name === fault) ?? {};
  if (away === undefined) return texts[language].circumstances[fault as Circumstance];
  const say = outageTexts[language];
  return away === 'late' ? say.late : say[away](count);
}

export interface ScoreboardChoice {
  readonly rungs: readonly string[];
  readonly faults: readonly string[];
}

export interface PlannedRace {
  readonly rung: RungName;
  readonly fault: Circumstance;
  readonly race: RaceName;
}

/** All outages of a rung in one network are played through one sale. */
export interface PlannedSale {
  readonly rung: RungName;
  readonly network: Network;
  readonly outages: readonly { readonly fault: string; readonly plan: OutagePlan }[];
}

/** Of two races with one fault, a rung may play both. One instance before four. */
export function racesOf({ rungs, faults }: ScoreboardChoice): PlannedRace[] {
  const planned = allRaces
    .map(({ race, rung }) => ({ race, rung, fault: schedules[race].under }))
    .filter(({ rung, fault }) => scoredRungs.includes(rung) && safetyFaults.includes(fault))
    .filter(({ rung, fault }) => rungs.includes(rung) && faults.includes(fault));
  const instances = ({ race }: PlannedRace) => schedules[race].instances;
  return planned.toSorted((one, other) => instances(one) - instances(other));
}

/** Those through proxies last: the service restarts once between the two kinds. */
export const salesOf = ({ rungs, faults }: ScoreboardChoice): PlannedSale[] =>
  (['direct', 'proxied'] as const).flatMap((network) =>
    scoredRungs
      .filter((rung) => rungs.includes(rung))
      .map((rung) => ({ rung, network, outages: outagesFor(rung, network, faults) }))
      .filter(({ outages }) => outages.length > 0),
  );

const networkOfOutage = (away: Away): Network => (away === 'late' ? 'proxied' : 'direct');

const outagesFor = (
  rung: RungName,
  network: Network,
  faults: readonly string[],
): PlannedSale['outages'] =>
  outageFaults
    .filter(({ name, away }) => faults.includes(name) && networkOfOutage(away) === network)
    .flatMap(({ name: fault, count, away }) => {
      const plan = outagesOf(lockServiceOf(rung), away, 0)[count - 1];
      return plan ? [{ fault, plan }] : []; // The rung may have too few servers.
    });
