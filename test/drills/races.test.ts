/** A race for each circumstance: some where the bug shows, some where it is mended. */
import { testRaces } from '../support/demo-tests.ts';
import { sampledRaces } from '../support/samples.ts';

testRaces(sampledRaces);
