/** Plays of choices for the tests, on their lab. */
import type { Lab } from '../../src/lab/environment/lab.ts';
import type { Experiment } from '../../src/lab/stage/experiment.ts';
import type { Result } from '../../src/lab/stage/result.ts';
import { play } from '../../src/lab/stage/runner.ts';

export const playedOn =
  (lab: () => Lab) =>
  <Options extends object>(experiment: Experiment<Options>, options: Options): Promise<Result> => {
    const { signal } = new AbortController();
    return play('choices', experiment, options, {
      ...{ lab: lab(), signal, untilInterrupted: (part) => part },
    });
  };

export const rowsOf = ({ tables: [first] = [] }: Result) => first?.rows;
