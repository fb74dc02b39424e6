/**
 * What `npm test` plays of the demo; `npm run test:all` plays all of it. The ladder chooses: a race
 * for each circumstance, and of each chapter a rush that breaks and one that holds.
 */
import {
  defaults,
  type RaceOnRung,
  rushes,
  shortRaces,
} from '../../src/lab/drills/demo-plan.ts';
import type { RunRequest } from '../../src/lab/drills/run-rung.ts';
import { claimOn } from '../../src/lab/races/race-verdict.ts';
import { schedules } from '../../src/lab/races/schedules.ts';
import { claimOf } from '../../src/ladder/claims.ts';
import { ladder } from '../../src/ladder/rungs.ts';

/** Chapter and claim: what a race or a rush is an example of. */
export const kindOfRace = ({ race, rung }: RaceOnRung): string =>
  `${ladder[rung].chapter} ${claimOn(ladder[rung], schedules[race])}`;
const circumstanceOf = ({ race }: RaceOnRung) => schedules[race].under;
const kindOfRush = ({ rung, instances }: RunRequest): string =>
  `${ladder[rung].chapter} ${claimOf(ladder[rung], instances).verdict}`;

/** Of each circumstance the pair whose kind was chosen least so far. */
export function sampleOfRaces(): RaceOnRung[] {
  const chosen: RaceOnRung[] = [];
  const times = (pair: RaceOnRung) =>
    chosen.filter((each) => kindOfRace(each) === kindOfRace(pair)).length;
  for (const under of new Set(shortRaces.map(circumstanceOf))) {
    const pairs = shortRaces.filter((pair) => circumstanceOf(pair) === under);
    const [rarest] = pairs.toSorted((one, other) => times(one) - times(other));
    if (rarest) chosen.push(rarest);
  }
  return chosen;
}

/** Of each kind the first rush. */
export function sampleOfRushes(seed: number): RunRequest[] {
  const all = rushes(seed);
  const kinds = all.map(kindOfRush);
  return all.filter((request, index) => kinds.indexOf(kindOfRush(request)) === index);
}
