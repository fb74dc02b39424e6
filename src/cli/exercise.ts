import { relative } from 'node:path';
import { exerciseNames } from '../lab/workshop/exercises.ts';
import { exerciseNamed } from '../lab/workshop/find-exercise.ts';
import { huntName, hunts } from '../lab/workshop/hunts.ts';
import { filesOf, Mine } from '../lab/workshop/mine.ts';
import { whole } from './options.ts';
import type { AddCommand } from './output.ts';

interface BeginOptions {
  readonly solution: boolean;
}

export const addExercise: AddCommand = (program) =>
  program
    .command('exercise')
    .description('begin an exercise: a rung without a defence, in files that you mend')
    .argument('[name]', 'one of those that it lists without a name')
    .option('--solution', 'the files as the project has them', false)
    .action((name: string | undefined, options: BeginOptions) =>
      name === undefined ? console.log(exerciseNames.join('\n')) : begin(name, options),
    );

export const addHuntBug: AddCommand = (program) =>
  program
    .command('hunt-bug')
    .description('begin a bug hunt: the final rung with a defect that real shops had')
    .argument('<number>', `1 to ${hunts.length}`, whole(1, hunts.length))
    .option('--solution', 'the files as the project has them', false)
    .action((number: number, options: BeginOptions) => begin(huntName(number), options));

/** What was there before is gone. */
function begin(name: string, { solution }: BeginOptions): void {
  const exercise = exerciseNamed(name);
  const mine = new Mine();
  mine.begin(name, exercise);
  if (solution) mine.solve(exercise);
  const folder = relative(process.cwd(), mine.folder) || '.';
  const paths = filesOf(exercise).map((path) => `  ${folder}/${path}`);
  const plays = exercise.plays.map((play) => `  npx lockstep mine ${play}`);
  const lines = [`${name}, on ${exercise.rung}. Your files:`, ...paths, 'Try them:', ...plays];
  console.log([...lines, 'Mended?', '  npx lockstep verify mine'].join('\n'));
}
