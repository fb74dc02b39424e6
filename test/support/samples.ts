/**
 * What `npm test` plays of the demo; the rest is in test/long. The ladder chooses: a race for each
 * circumstance, the rushes of the headline, and of each chapter a rush that breaks and one that
 * holds. Of the mutants of the final rung it plays two; the rest is in test/long.
 */
import { type RaceOnRung, rushes, shortRaces } from '../../src/lab/drills/demo-plan.ts';
import type { RunRequest } from '../../src/lab/drills/run-rung.ts';
import { type MutantName, mutantNames, mutants } from '../../src/lab/mutants/mutants.ts';
import { claimOn } from '../../src/lab/play/race-verdict.ts';
import { schedules } from '../../src/lab/play/schedules.ts';
import { storyOf } from '../../src/lab/report/demo-lines.ts';
import { claimOf } from '../../src/service/ladder/rung.ts';
import { ladder } from '../../src/service/ladder/rungs.ts';

function othersIn<T>(whole: readonly T[], sampled: readonly T[]): readonly T[] {
  return whole.filter((each) => !sampled.includes(each));
}

/** Chapter and claim: what a race or a rush is an example of. */
export const kindOfRace = ({ race, rung }: RaceOnRung): string =>
  `${ladder[rung].chapter} ${claimOn(ladder[rung], schedules[race])}`;
export const circumstanceOf = ({ race }: RaceOnRung) => schedules[race].under;
export const kindOfRush = ({ rung, instances }: RunRequest): string =>
  `${ladder[rung].chapter} ${claimOf(ladder[rung], instances).verdict}`;

/** Of each circumstance the pair whose kind was chosen least so far, and the first of each kind. */
function chooseRaces(): RaceOnRung[] {
  const chosen: RaceOnRung[] = [];
  const times = (pair: RaceOnRung) =>
    chosen.filter((each) => kindOfRace(each) === kindOfRace(pair)).length;
  for (const under of new Set(shortRaces.map(circumstanceOf))) {
    const pairs = shortRaces.filter((pair) => circumstanceOf(pair) === under);
    const [rarest] = pairs.toSorted((one, other) => times(one) - times(other));
    if (rarest) chosen.push(rarest);
  }
  for (const pair of shortRaces) if (times(pair) === 0) chosen.push(pair);
  return chosen;
}

export const sampledRaces: readonly RaceOnRung[] = chooseRaces();
export const otherRaces = othersIn(shortRaces, sampledRaces);

const seed = 7; // The demo has another one.
const all = rushes(seed);
const kinds = all.map(kindOfRush);
const isSampled = (request: RunRequest, index: number): boolean =>
  storyOf(request) !== undefined || kinds.indexOf(kindOfRush(request)) === index;

export const sampledRushes: readonly RunRequest[] = all.filter(isSampled);
export const otherRushes = othersIn(all, sampledRushes);

/** One loses orders at once, the other sells a user two. */
export const sampledMutants: readonly MutantName[] = ['early-acknowledgement', 'no-unique-key'];
export const otherMutants = othersIn(mutantNames, sampledMutants);

export const testOfMutant = (name: MutantName): string =>
  `${name} turns ${mutants[name].turnsRed} red, and the real rung holds`;
