/** The parsers of command line options. */
import { InvalidArgumentError, Option } from 'commander';
import { type Database, databases, defaultDatabase } from '../lab/environment/servers/database.ts';
import { parsePause, pauseFormat } from '../lab/races/pauses.ts';
import { wrap } from '../lab/report/wrap.ts';
import { type Language, languages } from '../texts/texts.ts';

export const whole = (least: number, most: number) => (text: string) => {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isInteger(number) || number < least || number > most)
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  return number;
};

/** A part of a minute is allowed: 0.5. */
export function minutes(text: string): number {
  const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(number > 0 && number <= 60))
    throw new InvalidArgumentError('It must be a number above 0, at most 60.');
  return number;
}

/** May be given several times. */
export function pause(text: string, earlier: readonly string[] = []): readonly string[] {
  if (parsePause(text) === null) throw new InvalidArgumentError(`\n${wrap(pauseFormat)}`);
  return [...earlier, text];
}

export const json = () => new Option('--json', 'print JSON instead of text').default(false);

export const database = () =>
  new Option('--database <name>', `the lab’s database (default: ${defaultDatabase})`).choices(
    databases,
  );

/** For a command that repeats this one. */
export const onDatabase = (used: Database): string =>
  used === defaultDatabase ? '' : ` --database ${used}`;

/** The language of the options that are not given. */
export const languageVariable = 'LOCKSTEP_LANGUAGE';

/** `--language zh`; without it, that of LANG. */
export function languageOf(words: readonly string[], env: NodeJS.ProcessEnv): Language {
  const at = words.indexOf('--language');
  const named = at < 0 ? words.find((word) => word.startsWith('--language=')) : words[at + 1];
  const wanted = named?.replace('--language=', '') ?? env[languageVariable] ?? env['LANG'] ?? '';
  return languages.find((each) => wanted.startsWith(each)) ?? 'en';
}

export const language = () =>
  new Option('--language <code>', 'the language of the ladder’s sentences; else that of LANG')
    .choices(languages)
    .env(languageVariable)
    .default('en');
