/** The mutants of the final rung that test/drills leaves out. */
import { testSaleMutants } from '../support/sale-mutant-test.ts';
import { otherMutants } from '../support/samples.ts';

testSaleMutants(otherMutants);
