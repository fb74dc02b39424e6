/**
 * The mutants of the locks: each can be made, and each that needs no server turns its test red.
 */
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { quickMutants, serverMutants } from '../mutants/lock-mutants.ts';
import { expectRed, type Mutant, mutated, mutation } from '../mutants/mutant.ts';

const read = (file: string): string =>
  readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

const named = (mutants: readonly Mutant[]) =>
  mutants.map((mutant) => [mutant.name, mutant] as const);

test.each(named([...quickMutants, ...serverMutants]))('%s: one place has its text', (_, mutant) => {
  expect(mutated(read(mutant.file), mutant)).not.toBe(read(mutant.file));
});

test('a mutant whose text is missing, or there twice, is refused', () => {
  const mutant: Mutant = {
    ...{ name: 'm', file: 'f', find: 'a', replace: 'b' },
    red: { file: 't', test: 't' },
  };
  expect(mutated('1 a 2', mutant)).toBe('1 b 2');
  expect(() => mutated('1 2', mutant)).toThrow('m: f has this text 0 times');
  expect(() => mutated('a a', mutant)).toThrow('m: f has this text 2 times');
});

test.each([
  ['AssertionError: expected 1 to be 2', true],
  ['Error: masters that have the lock: expected 2 to be +0 // Object.is equality', true],
  ['Error: promise resolved "null" instead of rejecting', true],
  ['Error: connect ECONNREFUSED 127.0.0.1:6379', false],
  ['Error: the lock on test:1 was not free in time', false],
  ['DEADLINE_PASSED: Waited 20 ms for it, and it did not happen.', false],
])('%s: is it a red test? %s', (message, isRed) => {
  const mutant: Mutant = {
    ...{ name: 'm', file: 'f', find: 'a', replace: 'b' },
    red: { file: 't', test: 't' },
  };
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
