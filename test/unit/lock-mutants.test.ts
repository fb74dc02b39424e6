/** The mutants of the locks: each that needs no server turns its test red. */
import { expect, test } from 'vitest';
import { quickMutants } from '../mutants/lock-mutants.ts';
import { expectRed, testLockMutants } from '../mutants/mutant.ts';

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

testLockMutants(quickMutants);
