/**
 * The operators' programs of a deployment: they have the environment of the service, and no lab.
 * Each says what it takes; how that is read, checked and answered is here.
 */
import { parseArgs } from 'node:util';
import type { z } from 'zod';
import { flag, isFlag, optionName, valueOfWord } from './words.ts';

/** What an operator's command has done. */
export interface OperationResult {
  /** For `--json`. */
  readonly data: unknown;
  readonly text: string;
  readonly exitCode: number;
}

interface Operation<Given extends z.ZodObject> {
  readonly usage: string;
  readonly given: Given;
  /** The fields of `given` that have no option, in their order. */
  readonly words: readonly string[];
  /** `--json` is one line. */
  readonly isOneLine?: true;
  readonly run: (given: z.infer<Given>) => Promise<OperationResult>;
}

/** Sets the exit code: 2 when nothing could be done. */
export async function operate<Given extends z.ZodObject>(program: Operation<Given>): Promise<void> {
  process.exitCode = await perform(program).catch((error: unknown) => {
    console.error(String(error));
    return 2;
  });
}

async function perform<Given extends z.ZodObject>(program: Operation<Given>): Promise<number> {
  const { json, ...values } = wordsOf(program);
  const read = program.given.safeParse(values);
  if (!read.success) throw new TypeError(program.usage);
  const { data, text, exitCode } = await program.run(read.data);
  console.log(json ? JSON.stringify(data, null, program.isOneLine ? 0 : 2) : text);
  return exitCode;
}

function wordsOf(program: Pick<Operation<z.ZodObject>, 'given' | 'words' | 'usage'>) {
  const { given, words, usage } = program;
  const schemas = Object.entries({ ...given.shape, json: flag });
  const options = Object.fromEntries(
    schemas
      .filter(([key]) => !words.includes(key))
      .map(([key, schema]) => [optionName(key), { type: typeOf(schema) }]),
  );
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  if (positionals.length > words.length) throw new TypeError(usage);
  const named = schemas.map(([key, schema]) => {
    const value = words.includes(key) ? positionals[words.indexOf(key)] : values[optionName(key)];
    return [key, typeof value === 'string' ? valueOfWord(schema, value) : value];
  });
  return Object.fromEntries(named) as Readonly<Record<string, unknown>>;
}

const typeOf = (schema: z.core.$ZodType): 'boolean' | 'string' =>
  isFlag(schema) ? 'boolean' : 'string';
