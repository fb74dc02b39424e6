/**
 * A command as a row: its name, one sentence, and what it takes. Parsing, --help, the checks of the
 * command line and of the page, and the command that repeats it are made from the row.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { coreOf, optionName } from '../../service/operate/words.ts';
import { defaultProgram } from '../environment/work-folders.ts';
import type { Bilingual } from '../stage/result.ts';

/** One argument or option, and what it is, in each language. */
export interface Entry<Schema extends z.ZodType = z.ZodType> extends Bilingual {
  /** Of the value. Its default is part of it, or that it may be missing. */
  readonly schema: Schema;
  /** How --help names the value of an option: `<n>` for a number. A flag has none. */
  readonly value?: string;
  /** The options that cannot be given with it. */
  readonly conflicts?: readonly string[];
  /** Options that it sets where they are not given. */
  readonly implies?: Readonly<Record<string, unknown>>;
  /** The variable of the environment that has it where it is not given. */
  readonly variable?: string;
  /**
   * Whether it stands in the command that repeats this one. `always`: also its default, so that a
   * recorded command means the same after the default has changed. `never`: it changes what is
   * shown, not what is played. Without it: when it is not its default.
   */
  readonly repeat?: 'always' | 'never';
}

export type Entries = Readonly<Record<string, Entry>>;

/** What is given by a command line, or by the page. */
export type Given<Of extends Entries> = { readonly [Key in keyof Of]: z.infer<Of[Key]['schema']> };

export interface CommandRow<Arguments extends Entries, Options extends Entries> {
  readonly name: string;
  readonly about: Bilingual;
  /** In their order. */
  readonly arguments: Arguments;
  /** In the order of --help, and of the command that repeats it. */
  readonly options: Options;
  /** Examples, below the options of --help. */
  readonly examples?: string;
}

export const commandRow = <Arguments extends Entries, Options extends Entries>(
  row: CommandRow<Arguments, Options>,
): CommandRow<Arguments, Options> => row;

export const entry = <Schema extends z.ZodType>(each: Entry<Schema>): Entry<Schema> => each;

/** A name of a table. @param refusal of any other name: it tells those that there are */
export const named = <Name extends string>(
  isName: (text: string) => text is Name,
  refusal: (text: string) => Error,
) => z.custom<Name>((value) => typeof value === 'string' && isName(value), { params: { refusal } });

/** Its default, as `kill-storm` of a drill's name; undefined where it has none. */
export const usualOf = ({ schema }: Entry): unknown => schema.safeParse(undefined).data;

/** The command line that means the same: `npx lockstep soak --minutes 3 --seed 1`. */
export function commandText<Arguments extends Entries, Options extends Entries>(
  { name, arguments: taken, options }: CommandRow<Arguments, Options>,
  given: Partial<Given<Arguments & Options>>,
): string {
  const values: Readonly<Record<string, unknown>> = given;
  return [
    ...[defaultProgram, name],
    ...Object.keys(taken).flatMap((key) => values[key] ?? []),
    ...Object.entries(options).flatMap(([key, each]) => optionWords(key, each, values[key])),
  ].join(' ');
}

/** As one word of a shell. */
const quoted = (word: string): string => (word.includes(' ') ? `'${word}'` : word);

function optionWords(key: string, each: Entry, value: unknown): string[] {
  const isUsual = each.repeat !== 'always' && isDeepStrictEqual(value, usualOf(each));
  if (value === undefined || each.repeat === 'never' || isUsual) return [];
  const option = `--${optionName(key)}`;
  if (value === true) return [option];
  const isRepeated = Array.isArray(value) && coreOf(each.schema) instanceof z.ZodArray;
  return (isRepeated ? value : [value]).map((one) => `${option} ${quoted(String(one))}`);
}
