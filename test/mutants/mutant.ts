/**
 * A mutant is the source with one defence removed. The test that is about this defence must fail on
 * it, with an assertion: else the test proves nothing.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { Lab } from '../../src/lab/environment/lab.ts';
import {
  type Change,
  changedText,
  compileCopy,
  fileOfChange,
  halfDone,
} from '../../src/lab/mutants/change.ts';
import { runTests } from '../../src/lab/workshop/run-tests.ts';
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

export interface Mutation {
  /** @returns what the test said: `passed`, or the message of its failure. */
  fate(mutant: LockMutant): Promise<string>;
  /** Also stops the servers of a run that failed. */
  remove(): Promise<void>;
}

/** One copy of the project for all mutants, so that its servers are installed once. */
export function mutation(): Mutation {
  const folder = copySources('nginx', 'test', 'vitest.config.ts');
  return {
    fate: async (mutant) => {
      const file = join(folder, fileOfChange(mutant, 'src'));
      const original = readFileSync(file, 'utf8');
      writeFileSync(file, changedText(mutant.name, original, mutant));
      try {
        if (!mutant.turnsRed.startsWith('unit/')) await compileCopy(folder, halfDone);
        return await run(folder, mutant);
      } finally {
        writeFileSync(file, original);
      }
    },
    remove: async () => {
      await Lab.stop(testLabFolder(folder, 'mariadb', 1));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Runs one test of the copy. @throws unless this test, and no other, was run. */
async function run(folder: string, mutant: LockMutant): Promise<string> {
  const { file, test } = testOf(mutant);
  const escaped = test.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const name = `^${escaped.replaceAll(' ', '( > | )')}$`; // The first one stands between titles.
  const { tests = [], printed } = await runTests(folder, file, name);
  const [own] = tests;
  if (tests.length !== 1 || own?.fullName !== test)
    throw new Error(`${file} did not run "${test}":\n${printed}`);
  return own.status === 'passed' ? 'passed' : (own.failureMessages?.[0] ?? '');
}
