/**
 * The load generator of a closed model: each connection sends its next request when it has the
 * answer to the one before. Every answer is counted by its code.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { z } from 'zod';
import { signToken } from '../../service/http/tokens.ts';
import type { Lab } from '../environment/lab.ts';
import { programPath } from '../environment/processes.ts';
import { sum } from '../stage/counts.ts';

/** How many answers had each code: `accepted`, or the code of a problem. */
export type Answers = Readonly<Record<string, number>>;

export interface LoadResult {
  readonly answers: Answers;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface WrkResult extends LoadResult {
  readonly seconds: number;
  /** Requests without an answer. */
  readonly broken: number;
}

/** One Authorization header for each user. A load goes on where the one before ended. */
export interface Tokens {
  /** Each line is a header. */
  readonly file: string;
  readonly count: number;
  next: number;
}

export interface WrkLoad {
  readonly tokens: Tokens;
  /** Requests at once. */
  readonly connections: number;
  readonly seconds: number;
  /** The body of a purchase that sold has this text. Without it, the status alone decides. */
  readonly sold?: string | undefined;
}

/** Above the longest wait for a lock: a slow answer is slow, and not broken. */
const answerWithin = '10s';

/** The users are numbered from `first`. */
export async function writeTokens(
  { folder, tokenSecret }: Pick<Lab, 'folder' | 'tokenSecret'>,
  count: number,
  first = 1,
): Promise<Tokens> {
  const users = Array.from({ length: count }, (_, index) => String(first + index));
  const tokens = await Promise.all(users.map((userId) => signToken(tokenSecret, userId, 'user')));
  const file = join(folder, 'bench-tokens.txt');
  writeFileSync(file, tokens.map((token) => `Bearer ${token}\n`).join(''));
  return { file, count, next: 0 };
}

/** The Authorization headers of the first users. Each voucher is another: they may buy it again. */
export const headersOf = ({ file }: Tokens, count: number): string[] =>
  readFileSync(file, 'utf8').split('\n', count);

const Summary = z.object({
  microseconds: z.number().positive(),
  answers: z.record(z.string(), z.number()),
  broken: z.number(),
  p50: z.number(),
  p99: z.number(),
});

export async function wrk(url: string, load: WrkLoad, signal: AbortSignal): Promise<WrkResult> {
  const { tokens, connections, seconds, sold = '' } = load;
  const options = [
    ...['--connections', String(connections), '--timeout', answerWithin],
    ...['--duration', `${seconds}s`],
  ];
  const args = [url, '--', tokens.file, String(tokens.next), sold];
  const said = await runWrk('wrk.lua', options, args, signal);
  const { microseconds, answers, broken, p50, p99 } = Summary.parse(said);
  // At its end, each connection has a request whose answer is not counted.
  tokens.next = (tokens.next + countAnswers(answers) + broken + connections) % tokens.count;
  return {
    seconds: microseconds / 1_000_000,
    answers,
    broken,
    p50Ms: p50 / 1_000,
    p99Ms: p99 / 1_000,
  };
}

/** @param script of bench/ @returns its last line, which is JSON */
export async function runWrk(
  script: string,
  options: readonly string[],
  args: readonly string[],
  signal: AbortSignal,
): Promise<unknown> {
  const file = fileURLToPath(new URL(`../../../bench/${script}`, import.meta.url));
  const all = ['--threads', '1', ...options, '--script', file, ...args];
  const { stdout } = await execa(programPath('wrk'), all, { cancelSignal: signal });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

export const countAnswers = (answers: Answers): number => sum(Object.values(answers));
