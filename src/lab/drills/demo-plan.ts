/**
 * What the demo runs: every rung in teaching order, again in every circumstance that a rush brings,
 * and every race.
 */
import { type Circumstance, circumstances, type Rung } from '../../ladder/rung.ts';
import { ladder, type RungName, rungNames } from '../../ladder/rungs.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { type RaceName, raceNames, type Schedule, schedules } from '../races/schedules.ts';
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
export const shortRaces: readonly RaceOnRung[] = raceNames.flatMap((race) => {
  const { rung, next } = schedules[race];
  return [rung, next].map((on) => ({ race, rung: on }));
});

/**
 * Each race also on every other rung that claims to break under it, unless a rush shows the same.
 */
export const allRaces: readonly RaceOnRung[] = raceNames.flatMap((race) => {
  const { rung, next } = schedules[race];
  return [rung, ...othersWith(race), next].map((on) => ({ race, rung: on }));
});

function othersWith(race: RaceName): RungName[] {
  const { rung, next, under }: Schedule = schedules[race];
  if (circumstances[under] === 'rush') return [];
  const isClaimed = ({ breaks }: Rung) => breaks.some((each) => each.under === under);
  const known: RungName[] = raceNames.flatMap((name) =>
    schedules[name].under === under ? [schedules[name].rung] : [],
  );
  return rungNames.filter(
    (name) => isClaimed(ladder[name]) && ![...known, rung, next].includes(name),
  );
}
