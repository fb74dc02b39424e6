/** Plays a drill in a test. How soon something happens is a figure: no test judges it. */
import { expect } from 'vitest';
import type { Lab } from '../../src/lab/environment/lab.ts';
import { resultText } from '../../src/lab/report/result-text.ts';
import type { Reader } from '../../src/lab/stage/events.ts';
import type { Result } from '../../src/lab/stage/result.ts';
import { textIn } from '../../src/lab/stage/result.ts';
import { play } from '../../src/lab/stage/runner.ts';
import type { Experiment } from '../../src/lab/stage/stage.ts';

/** On a busy machine it comes later than the drill allows. What never comes is no such reason. */
const isLate = (reason: string): boolean =>
  / \d+ ms, the limit is \d+ ms$| [\d.]+ s without a sale$/.test(reason);

/** It has so much time; what it has seen by then decides nothing. */
export const playIn = <Options extends object, Own>(
  lab: Lab,
  experiment: Experiment<Options, Own>,
  options: Options,
  withinMs = 300_000,
  readers: readonly Reader[] = [],
): Promise<Result<Own>> => {
  const signal = AbortSignal.timeout(withinMs);
  const session = { lab, signal, untilInterrupted: <T>(part: Promise<T>) => part };
  return play('test', experiment, options, session, readers);
};

export const playedOn =
  (lab: () => Lab) =>
  <Options extends object>(experiment: Experiment<Options>, options: Options): Promise<Result> =>
    playIn(lab(), experiment, options);

export const rowsOf = ({ tables: [first] = [] }: Result) => first?.rows;

export function expectHeld(result: Result): void {
  const text = resultText(result);
  expect(
    result.reasons.filter((reason) => !isLate(textIn('en', reason))),
    text,
  ).toEqual([]);
  expect(result.verdict, text).toBe(result.reasons.length > 0 ? 'violated' : 'held');
}
