/** Runs tests of a copy of the project: those of a mutant, and the contract of an exercise. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';

const Test = z.object({
  title: z.string(),
  fullName: z.string(),
  status: z.string(),
  failureMessages: z.array(z.string()).optional(),
});
const Report = z.object({ testResults: z.array(z.object({ assertionResults: z.array(Test) })) });

interface TestRun {
  /** Those that were run; undefined when there is no report. */
  readonly tests?: readonly z.infer<typeof Test>[];
  readonly printed: string;
}

/** @param name matches the full names of the tests that are run */
export async function runTests(
  folder: string,
  file: string,
  name: string,
  env: Readonly<Record<string, string>> = {},
): Promise<TestRun> {
  const report = join(folder, 'report.json');
  const project = dirname(file).replace('test/', '').replace('/', ' '); // As vitest.config.ts has it.
  const chosen = ['--project', project, file, '--testNamePattern', name];
  rmSync(report, { force: true });
  const { all: printed } = await execa(
    join(folder, 'node_modules/.bin/vitest'),
    ['run', ...chosen, '--reporter', 'json', '--outputFile', report],
    { cwd: folder, env, reject: false, all: true },
  );
  if (!existsSync(report)) return { printed };
  const { testResults } = Report.parse(JSON.parse(readFileSync(report, 'utf8')));
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  return { tests: tests.filter(({ status }) => ['passed', 'failed'].includes(status)), printed };
}
