/** The races of the demo that test/drills leaves out. */
import { testRaces } from '../support/demo-tests.ts';
import { otherRaces } from '../support/samples.ts';

testRaces(otherRaces);
