/** The mutants of the locks: each has its test, and each that needs no server turns it red. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { lockMutants, quickMutants } from '../mutants/lock-mutants.ts';
import { expectRed, testLockMutants, testOf } from '../mutants/mutant.ts';

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

test('every mutant has the test that watches it, and most of these are in `npm test`', () => {
  const tests = lockMutants.map(testOf);
  const files = tests.map(({ file }) => file);
  for (const file of files) expect(existsSync(file), file).toBe(true);
  const own = tests.filter(({ file }) => /^test\/(unit|integration)\//.test(file));
  // A title begins with words of its group, or of its row.
  for (const { file, test: title } of own)
    expect(readFileSync(file, 'utf8'), file).toContain(title.slice(-12));
  const short = files.filter((file) => !/^test\/(long|newer)\//.test(file));
  expect(short.length).toBeGreaterThan(files.length / 2);
});

testLockMutants(quickMutants);
