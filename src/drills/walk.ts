/** The ladder in teaching order: every rung as its row says, and again in every circumstance that breaks it. */
import type { ServiceShape } from '../lab/servers/service.ts';
import { type Circumstance, ladder, type Rung, type RungName, rungNames } from '../ladder.ts';
import { type RaceName, raceNames, type Schedule, schedules } from '../races/schedules.ts';
import type { RunRequest } from './run-rung.ts';

export const defaults = {
  users: 100,
  stock: 20,
  seed: 1,
  workMs: 100,
  retries: 0,
  insistence: 8,
  holds: [] as readonly string[],
  balancer: 'nginx',
} as const;

/** The rushes: many requests at once, and no fault. */
export function walk(seed: number): RunRequest[] {
  return rungNames.flatMap((rung) => {
    const { instances, breaks, retries }: Rung = ladder[rung];
    const asTheRowSays = { ...defaults, seed, rung, instances };
    const circumstances = [...new Set(breaks.map(({ under }) => under))];
    const again = retries === undefined ? [] : [{ ...asTheRowSays, retries }];
    return [asTheRowSays, ...again, ...circumstances.flatMap((under) => clustered(rung, seed, under))];
  });
}

/** The headline twice: nginx shares the requests out, and then Node's own cluster does. */
function clustered(rung: RungName, seed: number, under: Circumstance): RunRequest[] {
  if (under !== 'several-instances') return [];
  const shapes: ServiceShape[] = [
    { instances: 4, balancer: 'nginx' },
    { instances: 4, balancer: 'cluster' },
  ];
  return shapes.map((shape) => ({ ...defaults, seed, rung, ...shape }));
}

/**
 * The races: each on the rung that is known for it, on every other that claims it and that no rush shows it on, then on
 * the next one up, which has not.
 */
export const raceWalk: readonly { readonly race: RaceName; readonly rung: RungName }[] = raceNames.flatMap(
  (race) => {
    const { rung, next } = schedules[race];
    return [rung, ...othersWith(race), next].map((on) => ({ race, rung: on }));
  },
);

function othersWith(race: RaceName): RungName[] {
  const { rung, under, shows }: Schedule = schedules[race];
  if (under === 'two-requests-at-once' || under === 'several-instances') return [];
  const has = ({ breaks }: Rung) => breaks.some((each) => each.under === under && each.check === shows);
  return rungNames.filter((name) => name !== rung && has(ladder[name]));
}
