/** The rushes of the demo that test/drills leaves out. */
import { testRushes } from '../support/demo-tests.ts';
import { otherRushes } from '../support/samples.ts';

testRushes(otherRushes);
