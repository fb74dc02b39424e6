/** Every mutant of the locks turns its race or its contract red: `npm run mutants`. */
import { serverMutants } from './lock-mutants.ts';
import { testLockMutants } from './mutant.ts';

testLockMutants(serverMutants);
