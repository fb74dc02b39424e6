/**
 * Plays what an exercise must survive, on a copy of the project with the learner's files: its
 * races, its rush, and its part of the contract suite.
 */

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';
import type { Language } from '../../texts/texts.ts';
import { compileCopy, copyProject, halfDone, projectFolder } from '../mutants/change.ts';
import { reportFolderIn } from '../report/file-words.ts';
import { type Answer, textIn } from '../stage/result.ts';
import { type Contract, type Exercise, exerciseNamed } from './exercises.ts';
import type { Mine } from './mine.ts';
import type { Seen } from './progress.ts';
import { workshopTexts } from './texts.ts';

/** A project whose commands are run: this one, or a copy of it. */
export interface Project {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

const copied = ['src', 'nginx', 'test', 'tsconfig.json', 'vitest.config.ts'];

export const theProject = (runsFolder: string): Project => ({
  folder: projectFolder,
  env: { LOCKSTEP_RUNS: runsFolder },
});

/** With the files of the exercise that was begun last. @throws NO_EXERCISE, CANNOT_COMPILE */
export async function copyOf(mine: Mine, runsFolder: string): Promise<Project> {
  const name = mine.name();
  const { copyFolder } = mine;
  const folder = join(copyFolder, 'code');
  rmSync(folder, { recursive: true, force: true });
  copyProject(folder, copied);
  mine.copyInto(folder, name, exerciseNamed(name));
  await compileCopy(folder, halfDone);
  const env = { LOCKSTEP_LAB: join(copyFolder, 'lab'), LOCKSTEP_RUNS: runsFolder };
  return { folder, env: { ...env, LOCKSTEP_PROGRAM: 'npx lockstep mine' } };
}

const lockstep = ({ folder }: Project): string => join(folder, 'dist/cli/lockstep.js');

/** What it prints is shown. @returns its exit code */
export async function runOn(project: Project, words: readonly string[]): Promise<number> {
  const { exitCode } = await execa('node', [lockstep(project), ...words], {
    env: project.env,
    stdio: 'inherit',
    reject: false,
  });
  return exitCode ?? 1;
}

/** One after the other; the contract is last. */
export async function* verify(project: Project, exercise: Exercise): AsyncGenerator<Seen> {
  for (const play of exercise.plays) yield (await verifyPlay(project, play.split(' '))).seen;
  yield await verifyContract(project, exercise.contract);
}

const Result = z.object({
  verdict: z.string(),
  alsoBroken: z.array(z.string()).optional(),
  reasons: z.array(z.union([z.string(), z.object({ en: z.string(), zh: z.string() })])),
});

/** @param isShown what it prints is shown too */
export async function verifyPlay(
  project: Project,
  words: readonly string[],
  isShown = false,
): Promise<{ readonly seen: Seen; readonly printed: string }> {
  const shown = isShown ? (['pipe', 'inherit'] as const) : 'pipe';
  const { exitCode, stdout, stderr } = await execa('node', [lockstep(project), ...words], {
    env: project.env,
    reject: false,
    stdout: shown,
    stderr: shown,
  });
  const folder = reportFolderIn(stdout);
  const play = words.join(' ');
  if (folder === undefined)
    return { printed: stdout, seen: { play, answer: 'unknown', reasons: [lastLine(stderr)] } };
  const read: unknown = JSON.parse(readFileSync(join(folder, 'result.json'), 'utf8'));
  const { reasons, ...result } = Result.parse(read);
  const answer = answers[exitCode ?? 2] ?? 'unknown';
  const reasonsIn = (language: Language) => reasons.map((each) => textIn(language, each));
  const inChinese = { play, reasons: reasonsIn('zh') };
  const seen = { play, ...result, answer, reasons: reasonsIn('en'), inChinese };
  return { printed: stdout, seen: { ...seen, replay: join(folder, 'index.html') } };
}

const answers: Readonly<Record<number, Answer>> = { 0: 'yes', 1: 'no' };

const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';

async function verifyContract({ folder }: Project, contract: Contract): Promise<Seen> {
  const { file, rung } = contract;
  /** How the full names of its tests begin. */
  const subject = file === 'queues' ? `the queue of ${rung}` : rung;
  const locks = file === 'locks' ? { LOCKS: subject } : {};
  const path = `test/contracts/${file}.test.ts`;
  const { tests, printed } = await runTests(folder, path, `^${subject} `, locks);
  return tests ? seenOf(contract, tests) : seenOf(contract, [], lastLine(printed));
}

type Test = { readonly title: string; readonly status: string };

/** @param whyNone the reason, where no test was run */
export function seenOf({ file, rung }: Contract, tests: readonly Test[], whyNone?: string): Seen {
  const failed = tests.filter(({ status }) => status === 'failed');
  const isRun = tests.length > 0;
  const told = (language: Language) => {
    const say = workshopTexts[language];
    return {
      play: say.contractOf(rung, file === 'queues'),
      ...(isRun && { verdict: say.testsPassed(tests.length - failed.length, tests.length) }),
      reasons: isRun ? failed.map(({ title }) => say.testFailed(title)) : [whyNone ?? say.noTest],
    };
  };
  const answer = failed.length === 0 ? 'yes' : 'no';
  return { answer: isRun ? answer : 'unknown', ...told('en'), inChinese: told('zh') };
}

const Test = z.object({
  title: z.string(),
  fullName: z.string(),
  status: z.string(),
  failureMessages: z.array(z.string()).optional(),
});
const Report = z.object({ testResults: z.array(z.object({ assertionResults: z.array(Test) })) });

/** Of a copy of the project: those of a mutant, and the contract of an exercise. */
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
