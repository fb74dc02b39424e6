/**
 * A mutant is the source with one defence removed. The test that is about this defence must fail on
 * it, with an assertion: else the test proves nothing.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { expect } from 'vitest';
import { z } from 'zod';
import { Lab } from '../../src/lab/environment/lab.ts';
import { changedText } from '../../src/lab/mutants/changed-copy.ts';
import { testLabFolder } from '../support/lab.ts';
import { compile, copySources } from '../support/source-copy.ts';

export interface Mutant {
  readonly name: string;
  /** The file, from the project's folder, and its text that is replaced. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** The test that must fail: its file, its full name, and what its assertion must say. */
  readonly red: { readonly file: string; readonly test: string; readonly says?: string };
}

/** `rejects` throws the second, `expect.poll` the third. */
const assertion =
  /^(AssertionError: |Error: (promise resolved .* instead of rejecting|.*\bexpected .* to \w))/;

/** A failure that is an assertion about the defence, and no crash, time-out or slow machine. */
export function expectRed(message: string, { red }: Mutant): void {
  expect(message).toMatch(assertion);
  expect(message).toContain(red.says ?? '');
}

/** @throws MUTANT_TEXT_MISSING when the text is not in the file exactly once */
export const mutated = (text: string, mutant: Mutant): string =>
  changedText(mutant.name, text, mutant);

const Report = z.object({
  testResults: z.array(
    z.object({
      message: z.string().optional(),
      assertionResults: z.array(
        z.object({
          fullName: z.string(),
          status: z.string(),
          failureMessages: z.array(z.string()).optional(),
        }),
      ),
    }),
  ),
});

const isUnit = (file: string): boolean => file.startsWith('test/unit/');

/** Of vitest.config.ts: the name of a project is that of its folder. */
const projectOf = (file: string): string => dirname(file).replace('test/', '').replace('/', ' ');

export interface Mutation {
  /** @returns what the test said: `passed`, or the message of its failure. */
  fate(mutant: Mutant): Promise<string>;
  /** Also stops the servers of a run that failed. */
  remove(): Promise<void>;
}

/** One copy of the project for all mutants, so that its servers are installed once. */
export function mutation(): Mutation {
  const folder = copySources('nginx', 'test', 'vitest.config.ts');
  return {
    fate: async (mutant) => {
      const file = join(folder, mutant.file);
      const original = readFileSync(file, 'utf8');
      writeFileSync(file, mutated(original, mutant));
      try {
        const needsService = !isUnit(mutant.red.file);
        if (needsService) await compile(folder);
        return await run(folder, mutant.red);
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
async function run(folder: string, { file, test }: Mutant['red']): Promise<string> {
  const report = join(folder, 'report.json');
  const project = projectOf(file);
  const escaped = test.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const name = `^${escaped.replaceAll(' ', '( > | )')}$`; // The first one stands between titles.
  const options = ['--reporter', 'json', '--outputFile', report, '--testNamePattern', name];
  const vitest = join(folder, 'node_modules/.bin/vitest');
  rmSync(report, { force: true });
  const { all } = await execa(vitest, ['run', '--project', project, file, ...options], {
    ...{ cwd: folder, reject: false, all: true },
  });
  const results = Report.parse(JSON.parse(readFileSync(report, 'utf8'))).testResults;
  const tests = results.flatMap(({ assertionResults }) => assertionResults);
  const own = tests.filter(({ status }) => status === 'passed' || status === 'failed');
  if (own.length !== 1 || own[0]?.fullName !== test)
    throw new Error(`${file} did not run "${test}":\n${all}`);
  return own[0].status === 'passed' ? 'passed' : (own[0].failureMessages?.[0] ?? '');
}
