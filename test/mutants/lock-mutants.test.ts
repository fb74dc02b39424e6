/** Every mutant of the locks turns its race or its contract red: `npm run mutants`. */
import { afterAll, describe, test } from 'vitest';
import { serverMutants } from './lock-mutants.ts';
import { expectRed, mutation } from './mutant.ts';

const copy = mutation();
afterAll(() => copy.remove());

const named = serverMutants.map((mutant) => [mutant.name, mutant] as const);

describe.each(named)('when %s', (_, mutant) => {
  test(`it fails: ${mutant.turnsRed}`, async () => {
    expectRed(await copy.fate(mutant), mutant);
  });
});
