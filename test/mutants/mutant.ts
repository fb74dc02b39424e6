/**
 * A mutant is the source with one defence removed. The test that is about this defence must fail on
 * it, with an assertion: else the test proves nothing.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { Lab } from '../../src/lab/environment/lab.ts';
import {
  type Change,
  changedText,
  compileCopy,
  fileOfChange,
  halfDone,
} from '../../src/lab/mutants/change.ts';
import { runTests } from '../../src/lab/workshop/verify.ts';
import { testLabFolder } from '../support/lab.ts';
import { copySources } from '../support/source-copy.ts';

export interface LockMutant extends Change {
  readonly name: string;
  /** The test that must fail: its file below test/, and its full name. */
  readonly turnsRed: string;
  /** What its assertion must say. */
  readonly says?: string;
}

export function testOf({ turnsRed }: LockMutant): { readonly file: string; readonly test: string } {
  const [, file, test = ''] = /^(\S+): (.*)$/.exec(turnsRed) ?? [];
  return { file: `test/${file}.test.ts`, test };
}

/** `rejects` throws the second, `expect.poll` the third. */
const assertion =
  /^(AssertionError: |Error: (promise resolved .* instead of rejecting|.*\bexpected .* to \w))/;

/** A failure that is an assertion about the defence, and no crash, time-out or slow machine. */
export function expectRed(message: string, { says = '' }: LockMutant): void {
  expect(message).toMatch(assertion);
  expect(message).toContain(says);
}

/** One copy of the project for all of them, so that its servers are installed once. */
export function testLockMutants(mutants: readonly LockMutant[]): void {
  const folder = copySources('nginx', 'test', 'vitest.config.ts');
  afterAll(async () => {
    await Lab.stop(testLabFolder(folder, 'mariadb', 1)); // Of a run that failed.
    rmSync(folder, { recursive: true, force: true });
  });

  describe.each(mutants.map((mutant) => [mutant.name, mutant] as const))('when %s', (_, mutant) => {
    test(`it fails: ${mutant.turnsRed}`, { timeout: 240_000 }, async () => {
      expectRed(await fateIn(folder, mutant), mutant);
    });
  });
}

/** @returns what its test said: `passed`, or the message of its failure. */
async function fateIn(folder: string, mutant: LockMutant): Promise<string> {
  const file = join(folder, fileOfChange(mutant, 'src'));
  const original = readFileSync(file, 'utf8');
  writeFileSync(file, changedText(mutant.name, original, mutant));
  try {
    if (!mutant.turnsRed.startsWith('unit/')) await compileCopy(folder, halfDone);
    return await run(folder, mutant);
  } finally {
    writeFileSync(file, original);
  }
}

/** Runs one test of the copy. @throws unless this test, and no other, was run. */
async function run(folder: string, mutant: LockMutant): Promise<string> {
  const { file, test: title } = testOf(mutant);
  const escaped = title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const name = `^${escaped.replaceAll(' ', '( > | )')}$`; // The first one stands between titles.
  const { tests = [], printed } = await runTests(folder, file, name);
  const [own] = tests;
  if (tests.length !== 1 || own?.fullName !== title)
    throw new Error(`${file} did not run "${title}":\n${printed}`);
  return own.status === 'passed' ? 'passed' : (own.failureMessages?.[0] ?? '');
}
