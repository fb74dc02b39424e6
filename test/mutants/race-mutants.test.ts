/** Every race of the demo, with its requests or its faults broken: `npm run mutants`. */
import { fixingRaces, testRaceMutants } from './race-mutant-tests.ts';

testRaceMutants(fixingRaces);
