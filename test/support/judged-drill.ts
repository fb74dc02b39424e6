/** Plays a drill in a test. How soon something happens is a figure: no test judges it. */
import { expect } from 'vitest';
import type { Lab } from '../../src/lab/environment/lab.ts';
import { resultText } from '../../src/lab/report/result-text.ts';
import type { Experiment } from '../../src/lab/stage/experiment.ts';
import type { Result } from '../../src/lab/stage/result.ts';
import { play } from '../../src/lab/stage/runner.ts';

/** On a busy machine these come later than the drill allows. */
const late = [
  /: no sale for \d+ ms, the limit/,
  /: recorded after \d+ ms, the limit/,
  /: the first sale was \d+ ms after the servers/,
];
const isLate = (reason: string): boolean => late.some((each) => each.test(reason));

/** It has so much time; what it has seen by then decides nothing. */
export const playIn = <Options extends object>(
  lab: Lab,
  experiment: Experiment<Options>,
  options: Options,
  withinMs = 150_000,
): Promise<Result> => {
  const signal = AbortSignal.timeout(withinMs);
  const session = { lab, signal, untilInterrupted: <T>(part: Promise<T>) => part };
  return play('test', experiment, options, session);
};

export const playedOn =
  (lab: () => Lab) =>
  <Options extends object>(experiment: Experiment<Options>, options: Options): Promise<Result> =>
    playIn(lab(), experiment, options);

export const rowsOf = ({ tables: [first] = [] }: Result) => first?.rows;

export function expectHeld(result: Result): void {
  const text = resultText(result);
  expect(
    result.reasons.filter((reason) => !isLate(reason)),
    text,
  ).toEqual([]);
  expect(result.verdict, text).toBe(result.reasons.length > 0 ? 'violated' : 'held');
}
