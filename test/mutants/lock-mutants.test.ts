/** Every mutant of the locks turns its race or its contract red: `npm run mutants`. */
import { afterAll, describe, expect, test } from 'vitest';
import { serverMutants } from './lock-mutants.ts';
import { mutation } from './mutant.ts';

const copy = mutation();
afterAll(() => copy.remove());

describe.each(serverMutants)('when $name', (mutant) => {
  test(`it fails: ${mutant.red.test}`, async () => {
    expect(await copy.fate(mutant)).toMatch(/^AssertionError: /);
  });
});
