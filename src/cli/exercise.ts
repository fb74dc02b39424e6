import { relative } from 'node:path';
import { wrap } from '../lab/report/wrap.ts';
import { exerciseNames } from '../lab/workshop/exercises.ts';
import { exerciseNamed } from '../lab/workshop/find-exercise.ts';
import { huntName, hunts } from '../lab/workshop/hunts.ts';
import { terminalText } from '../lab/workshop/markdown.ts';
import { filesOf, Mine } from '../lab/workshop/mine.ts';
import { taskNamed } from '../lab/workshop/tasks.ts';
import { languageOption, workshopTexts } from '../lab/workshop/texts.ts';
import type { Language } from '../ladder/texts/texts.ts';
import { language, whole } from './options.ts';
import type { AddCommand, Place } from './output.ts';

interface BeginOptions {
  readonly solution: boolean;
  readonly again: boolean;
  readonly language: Language;
}

export const addExercise: AddCommand = (program, place) =>
  program
    .command('exercise')
    .description('begin an exercise: a rung without a defence, in files that you mend')
    .argument('[name]', 'one of those that it lists without a name')
    .option('--solution', 'the files as the project has them, and why', false)
    .option('--again', 'anew, although it was begun', false)
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
    .option('--again', 'anew, although it was begun', false)
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

/** Begun already, it goes on: the learner's files stay. */
function begin(
  { workshopHome }: Place,
  name: string,
  { solution: isSolved, again, language }: BeginOptions,
): void {
  const exercise = exerciseNamed(name);
  const { title, text, solution } = taskNamed(name, language);
  const say = workshopTexts[language];
  const mine = new Mine(workshopHome);
  const goesOn = mine.begun() === name && !again && !isSolved;
  if (!goesOn) mine.begin(name, exercise);
  if (isSolved) mine.solve(exercise);
  const folder = relative(process.cwd(), mine.folder) || '.';
  const paths = filesOf(exercise).map((path) => `    ${folder}/${path}`);
  const plays = exercise.plays.map((play) => `    npx lockstep mine ${play}`);
  const inLanguage = languageOption(language);
  const parts = [
    wrap(`${name} (${exercise.rung}): ${title}`),
    terminalText(isSolved ? solution : text),
    [say.files, ...paths].join('\n'),
    [say.tryIt, ...plays].join('\n'),
    [say.hintIs, `    npx lockstep workshop hint${inLanguage}`].join('\n'),
    [say.isItMended, `    npx lockstep verify mine${inLanguage}`].join('\n'),
    ...(goesOn ? [`${say.goesOn}\n    npx lockstep ${commandOf(name)} --again${inLanguage}`] : []),
  ];
  console.log(parts.join('\n\n'));
}

const commandOf = (name: string): string =>
  name.startsWith('bug ') ? `hunt-bug ${name.slice(4)}` : `exercise ${name}`;
