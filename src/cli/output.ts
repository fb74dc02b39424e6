/** How a command prints, and its exit code: one rule for all commands. */

import { relative } from 'node:path';
import type { Progress } from '../lab/environment/lab.ts';
import { wrap, wrapLines } from '../lab/report/wrap.ts';
import type { Answer } from '../lab/stage/result.ts';
import type { Verdict } from '../service/domain.ts';
import { LockstepError } from '../service/errors.ts';
import type { Language } from '../texts/texts.ts';
import { errorInChinese } from './errors-zh.ts';

/** Progress goes to standard error, so that standard output is the result alone. */
export const progress = (line: string): void => console.error(line);

export const progressIn =
  (language: Language): Progress =>
  (text) =>
    progress(text[language]);

let hasPrinted = false;

export function print(json: boolean, data: unknown, text: () => string): void {
  hasPrinted = true;
  console.log(json ? JSON.stringify(data, null, 2) : text());
}

/** A list: each name with its sentence, which has this key in JSON. */
export function printNamed<Name extends string>(
  json: boolean,
  names: readonly Name[],
  key: string,
  sentenceOf: (name: Name) => string,
): void {
  const rows = names.map((name) => ({ name, [key]: sentenceOf(name) }));
  print(json, rows, () => names.map((name) => wrap(`${name}: ${sentenceOf(name)}`)).join('\n'));
}

/** With --json, standard output has one JSON document also when the command fails. */
export function printError(code: string, message: string): void {
  if (hasPrinted || !process.argv.includes('--json')) return;
  print(true, { error: { code, message } }, () => message);
}

const causeOf = ({ cause }: Error): string => (cause instanceof Error ? ` (${cause.message})` : '');

/** An error of ours is told in sentences, any other one with its stack. The exit code is 2. */
export function tellError(error: unknown, isChinese = false): void {
  if (error instanceof LockstepError) {
    const message = `${error.message}${causeOf(error)}`;
    printError(error.code, message);
    if (isChinese) console.error(wrap(`${error.code}：${errorInChinese(error.code)}`));
    console.error(wrapLines(`${error.code}: ${message}`));
  } else {
    printError('UNEXPECTED', String(error));
    console.error(error);
  }
  process.exitCode = 2;
}

/** A path as a person reads it. */
export const fromHere = (path: string): string => relative(process.cwd(), path) || '.';

export const exitCodes = 'Exit codes: 0 as expected, 1 not as expected, 2 could not tell.';

/** 1 when any answer is no, 2 when there is none or one is unknown, else 0. */
export function setExitCode(answers: readonly Answer[]): void {
  if (answers.includes('no')) process.exitCode = 1;
  else process.exitCode = answers.length === 0 || answers.includes('unknown') ? 2 : 0;
}

export function asClaimed(results: readonly { verdict: Verdict; asClaimed: boolean }[]): Answer[] {
  return results.map((result) => {
    if (result.verdict === 'unknown') return 'unknown';
    return result.asClaimed ? 'yes' : 'no';
  });
}
