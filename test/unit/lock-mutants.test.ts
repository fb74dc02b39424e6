/**
 * The mutants of the locks: each can be made, and each that needs no server turns its test red.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { changedText, fileOfChange, projectFolder } from '../../src/lab/mutants/change.ts';
import { quickMutants, serverMutants } from '../mutants/lock-mutants.ts';
import { expectRed, type LockMutant, mutation } from '../mutants/mutant.ts';

const named = (mutants: readonly LockMutant[]) =>
  mutants.map((mutant) => [mutant.name, mutant] as const);

test.each(named([...quickMutants, ...serverMutants]))('%s: one place has its text', (_, mutant) => {
  const text = readFileSync(join(projectFolder, fileOfChange(mutant, 'src')), 'utf8');
  expect(changedText(mutant.name, text, mutant)).not.toBe(text);
});

test.each([
  ['AssertionError: expected 1 to be 2', true],
  ['Error: masters that have the lock: expected 2 to be +0 // Object.is equality', true],
  ['Error: promise resolved "null" instead of rejecting', true],
  ['Error: connect ECONNREFUSED 127.0.0.1:6379', false],
  ['Error: the lock on test:1 was not free in time', false],
  ['DEADLINE_PASSED: Waited 20 ms for it, and it did not happen.', false],
])('%s: is it a red test? %s', (message, isRed) => {
  const mutant = { name: 'm', file: 'f', find: 'a', turnsRed: 't: t' };
  if (isRed) expectRed(message, mutant);
  else expect(() => expectRed(message, mutant)).toThrow();
});

describe('without servers', () => {
  const copy = mutation();
  afterAll(() => copy.remove());

  test.each(named(quickMutants))(
    'when %s, its test fails',
    { timeout: 60_000 },
    async (_, mutant) => {
      expectRed(await copy.fate(mutant), mutant);
    },
  );
});
