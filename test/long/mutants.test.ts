/** The mutants of the final rung that test/drills leaves out. */
import { testSaleMutants } from '../mutants/sale-mutant-test.ts';
import { otherMutants } from '../support/samples.ts';

testSaleMutants(otherMutants);
