/** Rushes of the demo, with another seed: of each chapter one that breaks and one that holds. */
import { testRushes } from '../support/demo-tests.ts';
import { sampledRushes } from '../support/samples.ts';

testRushes(sampledRushes);
