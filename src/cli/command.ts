/** A row of a command, on the command line: it is parsed, checked, and told by --help. */
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { language as languageEntry, languageVariable } from '../lab/commands/options.ts';
import {
  type CommandRow,
  type Entries,
  type Entry,
  type Given,
  usualOf,
} from '../lab/commands/row.ts';
import type { WorkFolders } from '../lab/environment/work-folders.ts';
import { coreOf, optionName, valueOfWord } from '../service/operate/words.ts';
import { type Language, languages } from '../texts/texts.ts';

/** Adds a command to the program. @returns it, for what no row can say */
export type AddCommand = (program: Command, folders: WorkFolders, language?: Language) => Command;

export const command =
  <Arguments extends Entries, Options extends Entries>(
    row: CommandRow<Arguments, Options>,
    run: (folders: WorkFolders, given: Given<Arguments & Options>) => void | Promise<void>,
  ): AddCommand =>
  (program, folders, language = 'en') => {
    const added = program.command(row.name).description(row.about[language]);
    for (const [name, each] of Object.entries(row.arguments))
      added.addArgument(argumentOf(name, each, language));
    const options = { ...row.options, language: languageEntry }; // Errors and --help have both.
    for (const [key, each] of Object.entries(options))
      added.addOption(optionOf(key, each, language));
    if (row.examples) added.addHelpText('after', row.examples);
    return added.action(() => run(folders, givenTo(added, row)));
  };

const isRequired = ({ schema }: Entry): boolean => !schema.safeParse(undefined).success;

function argumentOf(name: string, each: Entry, language: Language): Argument {
  const shown = coreOf(each.schema) instanceof z.ZodArray ? `${name}...` : name;
  const argument = new Argument(isRequired(each) ? `<${shown}>` : `[${shown}]`, each[language]);
  const usual = usualOf(each);
  if (usual !== undefined) argument.default(usual);
  const choices = choicesOf(each);
  return choices ? argument.choices(choices) : argument.argParser(parserOf(each));
}

function optionOf(key: string, each: Entry, language: Language): Option {
  const { conflicts, implies, variable } = each;
  const value = each.value ?? (coreOf(each.schema) instanceof z.ZodNumber ? '<n>' : undefined);
  const long = `--${optionName(key)}`;
  const option = new Option(value ? `${long} ${value}` : long, each[language]);
  option.makeOptionMandatory(isRequired(each));
  option.default(usualOf(each)).conflicts([...(conflicts ?? [])]);
  if (implies) option.implies({ ...implies });
  if (variable) option.env(variable);
  const choices = choicesOf(each);
  if (choices) return option.choices(choices);
  return value ? option.argParser(parserOf(each)) : option;
}

const choicesOf = ({ schema }: Entry): string[] | undefined => {
  const core = coreOf(schema);
  return core instanceof z.ZodEnum ? core.options.map(String) : undefined;
};

/** What the schema reads: it is told here what is wrong with it, beside the name of the option. */
const parserOf =
  ({ schema }: Entry) =>
  (word: string, before: unknown): unknown => {
    const earlier: readonly unknown[] = Array.isArray(before) ? before : [];
    const isList = coreOf(schema) instanceof z.ZodArray;
    const value = isList ? [...earlier, word] : valueOfWord(schema, word);
    const [issue] = schema.safeParse(value).error?.issues ?? [];
    if (issue) throw refusalOf(issue, word);
    return value;
  };

/** A name that is in no table has an error of ours. */
function refusalOf(issue: z.core.$ZodIssue, word: string): Error {
  const refusal: unknown = issue.code === 'custom' ? issue.params?.['refusal'] : undefined;
  return typeof refusal === 'function' ? refusal(word) : new InvalidArgumentError(issue.message);
}

/** Each value has the type of its schema: all of them are parsed by theirs. */
function givenTo<Arguments extends Entries, Options extends Entries>(
  added: Command,
  row: CommandRow<Arguments, Options>,
): Given<Arguments & Options> {
  const entries: Entries = { ...row.arguments, ...row.options };
  const shape = Object.fromEntries(
    Object.entries(entries).map(([key, { schema }]) => [key, schema]),
  );
  const words = Object.keys(row.arguments).map((name, at) => [name, added.processedArgs[at]]);
  return z.object(shape).parse({ ...Object.fromEntries(words), ...added.opts() }) as Given<
    Arguments & Options
  >;
}

/** `--language zh`; without it, that of LANG. */
export function languageOf(words: readonly string[], env: NodeJS.ProcessEnv): Language {
  const at = words.indexOf('--language');
  const named = at < 0 ? words.find((word) => word.startsWith('--language=')) : words[at + 1];
  const wanted = named?.replace('--language=', '') ?? env[languageVariable] ?? env['LANG'] ?? '';
  return languages.find((each) => wanted.startsWith(each)) ?? 'en';
}
