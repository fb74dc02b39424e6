/**
 * What the demo runs: every rung in teaching order, again in every circumstance that a rush brings,
 * and every race.
 */
import { type Circumstance, circumstances, claimOf, type Rung } from '../../service/ladder/rung.ts';
import { ladder, type RungName, rungNames } from '../../service/ladder/rungs.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { type RaceName, raceNames, type Schedule, schedules } from '../play/schedules.ts';
import type { RunRequest } from './run-rung.ts';

export const defaults = {
  users: 100,
  stock: 20,
  seed: 1,
  workMs: 100,
  retries: 0,
  requestsPerEagerUser: 8,
  balancer: 'nginx',
} as const;

/** The rushes: many requests at once, and no fault. */
export function rushes(seed: number): RunRequest[] {
  return rungNames.flatMap((rung) => {
    const { instances, breaks, retries, pauses }: Rung = ladder[rung];
    const request = { ...defaults, seed, rung, instances, pauses };
    const again = retries === undefined ? [] : [{ ...request, retries }];
    const under = new Set<Circumstance>(breaks.map((each) => each.under));
    const clustered = under.has('several-instances')
      ? several.map((shape) => ({ ...request, ...shape }))
      : [];
    return [request, ...again, ...clustered];
  });
}

/** The headline twice: behind nginx, and behind Node's own cluster. */
const several: readonly ServiceShape[] = [
  { instances: 4, balancer: 'nginx' },
  { instances: 4, balancer: 'cluster' },
];

export interface RaceOnRung {
  readonly race: RaceName;
  readonly rung: RungName;
}

/** Each race on the rung with the bug, then on the next rung, which fixes it. */
export const shortRaces: readonly RaceOnRung[] = raceNames.flatMap((race) =>
  shownOn(race).map((rung) => ({ race, rung })),
);

function shownOn(race: RaceName): RungName[] {
  const { rung, next }: Schedule = schedules[race];
  return next === undefined ? [rung] : [rung, next];
}

/**
 * Each race of a fault also on every other rung that claims to break under it, and on every rung
 * that it could break: so a promise that a rung claims to hold is tried, not assumed.
 */
export const allRaces: readonly RaceOnRung[] = raceNames.flatMap((race) => {
  const [rung, ...next] = shownOn(race);
  const others = othersWith(race).filter((each) => each !== rung && !next.includes(each));
  const all = rung === undefined ? others : [rung, ...others, ...next];
  return all.map((on) => ({ race, rung: on }));
});

/** A rush brings its circumstances by itself. Of two races with one fault, the first is played. */
function othersWith(race: RaceName): RungName[] {
  const schedule: Schedule = schedules[race];
  const { under } = schedule;
  const same = raceNames.filter((name) => schedules[name].under === under);
  if (circumstances[under] === 'rush' || same[0] !== race || schedule.onlyHere) return [];
  const shown: RungName[] = same.slice(1).map((name) => schedules[name].rung);
  return rungNames.filter((name) => !shown.includes(name) && isRaced(ladder[name], schedule));
}

/** A rung that a rush breaks already is raced only where it claims to break. */
function isRaced(rung: Rung, { under, instances, needs }: Schedule): boolean {
  if (rung.breaks.some((each) => each.under === under)) return true;
  const has = {
    lock: rung.lock !== undefined,
    waiters: rung.lock !== undefined && rung.waitMs !== 0,
    queue: rung.queue !== undefined,
    stored: !rung.breaks.some((each) => each.under === 'instance-dies'),
    'lock-service': rung.lockService !== undefined,
    'lock-alone': rung.lockService !== undefined && !rung.stockWithLock,
    'lock-redis': rung.lockService?.servers.every((name) => name.startsWith('redis')) ?? false,
  };
  return claimOf(rung, instances).verdict === 'held' && (needs === undefined || has[needs]);
}

/**
 * The cost of serial sales: pairs of rungs that are both right, of which one makes all buyers wait
 * in one line.
 */
export const serialPairs: readonly { readonly serial: RungName; readonly beside: RungName }[] = [
  { serial: 'row-lock', beside: 'stock-positive' },
  { serial: 'mutex-per-method', beside: 'mutex-per-user' },
];

/** Different users, one request each, and stock for all: no request is refused. */
const serialLoad = {
  ...defaults,
  users: 40,
  stock: 40,
  requestsPerEagerUser: 1,
  workMs: 50,
  pauses: [],
};

/** The concurrent one comes first. */
export const serialRuns = (seed: number): RunRequest[] =>
  serialPairs
    .flatMap(({ serial, beside }) => [beside, serial])
    .map((rung) => ({ ...serialLoad, seed, rung, instances: ladder[rung].instances }));
