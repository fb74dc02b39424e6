/** Three races whose requests never stop, or whose faults never happen; all are in test/mutants. */
import { fixingRaces, testRaceMutants } from '../mutants/race-mutant-tests.ts';

const sampled = ['lost-update', 'dead-holder', 'scripts-forgotten'];

testRaceMutants(fixingRaces.filter(({ race }) => sampled.includes(race)));
