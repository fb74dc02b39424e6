/** Two mutants of the final rung: the audit sees that a defence is missing. */
import { testSaleMutants } from '../mutants/sale-mutant-test.ts';
import { sampledMutants } from '../support/samples.ts';

testSaleMutants(sampledMutants);
