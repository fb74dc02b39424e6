import { relative } from 'node:path';
import { wrap } from '../lab/report/wrap.ts';
import { exerciseNames } from '../lab/workshop/exercises.ts';
import { exerciseNamed } from '../lab/workshop/find-exercise.ts';
import { huntName, hunts } from '../lab/workshop/hunts.ts';
import { terminalText } from '../lab/workshop/markdown.ts';
import { filesOf, Mine } from '../lab/workshop/mine.ts';
import { taskNamed } from '../lab/workshop/tasks.ts';
import { workshopTexts } from '../lab/workshop/texts.ts';
import type { Language } from '../ladder/texts/texts.ts';
import { language, whole } from './options.ts';
import type { AddCommand, Place } from './output.ts';

interface BeginOptions {
  readonly solution: boolean;
  readonly language: Language;
}

export const addExercise: AddCommand = (program, place) =>
  program
    .command('exercise')
    .description('begin an exercise: a rung without a defence, in files that you mend')
    .argument('[name]', 'one of those that it lists without a name')
    .option('--solution', 'the files as the project has them, and why', false)
    .addOption(language())
    .action((name: string | undefined, options: BeginOptions) =>
      name === undefined ? listTasks(exerciseNames, options) : begin(place, name, options),
    );

export const addHuntBug: AddCommand = (program, place) =>
  program
    .command('hunt-bug')
    .description('begin a bug hunt: the final rung with a defect that real shops had')
    .argument(
      '[number]',
      `1 to ${hunts.length}; without it they are listed`,
      whole(1, hunts.length),
    )
    .option('--solution', 'the files as the project has them, and the defect', false)
    .addOption(language())
    .action((number: number | undefined, options: BeginOptions) =>
      number === undefined
        ? listTasks(
            hunts.map((_, index) => huntName(index + 1)),
            options,
          )
        : begin(place, huntName(number), options),
    );

function listTasks(names: readonly string[], { language }: BeginOptions): void {
  for (const name of names) console.log(wrap(`${name}: ${taskNamed(name, language).title}`));
}

/** What was there before is gone. */
function begin(
  { workshopHome }: Place,
  name: string,
  { solution: isSolved, language }: BeginOptions,
): void {
  const exercise = exerciseNamed(name);
  const { title, text, solution } = taskNamed(name, language);
  const say = workshopTexts[language];
  const mine = new Mine(workshopHome);
  mine.begin(name, exercise);
  if (isSolved) mine.solve(exercise);
  const folder = relative(process.cwd(), mine.folder) || '.';
  const paths = filesOf(exercise).map((path) => `    ${folder}/${path}`);
  const plays = exercise.plays.map((play) => `    npx lockstep mine ${play}`);
  const parts = [
    wrap(`${name} (${exercise.rung}): ${title}`),
    terminalText(isSolved ? solution : text),
    [say.files, ...paths].join('\n'),
    [say.tryIt, ...plays].join('\n'),
    [say.isItMended, '    npx lockstep verify mine'].join('\n'),
  ];
  console.log(parts.join('\n\n'));
}
