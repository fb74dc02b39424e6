import { wrap } from '../lab/report/wrap.ts';
import { exerciseNames } from '../lab/workshop/exercises.ts';
import { exerciseNamed } from '../lab/workshop/find-exercise.ts';
import { huntName, hunts, isHunt } from '../lab/workshop/hunts.ts';
import { terminalText } from '../lab/workshop/markdown.ts';
import { filesOf, Mine } from '../lab/workshop/mine.ts';
import { taskNamed } from '../lab/workshop/tasks.ts';
import { languageOption, workshopTexts } from '../lab/workshop/texts.ts';
import type { Language } from '../texts/texts.ts';
import { nextHint } from './hint.ts';
import { language, whole } from './options.ts';
import { type AddCommand, fromHere, type WorkFolders } from './output.ts';

interface BeginOptions {
  readonly solution: boolean;
  readonly again: boolean;
  readonly hint: boolean;
  readonly language: Language;
}

const again = 'anew; what you wrote is kept beside it';

export const addExercise: AddCommand = (program, folders) =>
  program
    .command('exercise')
    .description('begin an exercise: a rung without a defence, in files that you mend')
    .argument('[name]', 'one of those that it lists without a name')
    .option('--solution', 'the files as the project has them, and why', false)
    .option('--again', again, false)
    .option('--hint', 'one hint more', false)
    .addOption(language())
    .action((name: string | undefined, options: BeginOptions) =>
      name === undefined ? listTasks(exerciseNames, options) : begin(folders, name, options),
    );

export const addHuntBug: AddCommand = (program, folders) =>
  program
    .command('hunt-bug')
    .description('begin a bug hunt: the final rung with a defect that real shops had')
    .argument(
      '[number]',
      `1 to ${hunts.length}; without it they are listed`,
      whole(1, hunts.length),
    )
    .option('--solution', 'the files as the project has them, and the defect', false)
    .option('--again', again, false)
    .option('--hint', 'one hint more', false)
    .addOption(language())
    .action((number: number | undefined, options: BeginOptions) =>
      number === undefined
        ? listTasks(
            hunts.map((_, index) => huntName(index + 1)),
            options,
          )
        : begin(folders, huntName(number), options),
    );

function listTasks(names: readonly string[], { language }: BeginOptions): void {
  for (const name of names) console.log(wrap(`${name}: ${taskNamed(name, language).title}`));
}

function begin(folders: WorkFolders, name: string, options: BeginOptions): void {
  const { hint, language } = options;
  console.log(
    hint ? nextHint(folders, name, language) : begun(folders, name, options).join('\n\n'),
  );
}

/** Begun already, it goes on: nothing that the learner wrote is overwritten. */
function begun(folders: WorkFolders, name: string, options: BeginOptions): string[] {
  const exercise = exerciseNamed(name);
  const mine = new Mine(folders.workshopHome);
  const isAnew = options.again || options.solution;
  const goesOn = mine.isBegun(name) && !isAnew;
  const kept = isAnew ? mine.putAside(name) : null;
  if (options.solution) mine.solve(name, exercise);
  else mine.begin(name, exercise);
  const say = workshopTexts[options.language];
  const again = `    npx lockstep ${commandOf(name)} --again${languageOption(options.language)}`;
  return [
    ...taskLines(name, options),
    ...filesAndPlays(name, mine.folderOf(name), options.language),
    ...(goesOn ? [`${say.goesOn}\n${again}`] : []),
    ...(kept ? [`${say.keptIn}\n    ${fromHere(kept)}`] : []),
  ];
}

function taskLines(name: string, { solution: isSolved, language }: BeginOptions): string[] {
  const { title, text, solution } = taskNamed(name, language);
  return [
    wrap(`${name} (${exerciseNamed(name).rung}): ${title}`),
    terminalText(isSolved ? solution : text),
  ];
}

/** Those of a hunt would tell what is to be found. */
function filesAndPlays(name: string, folder: string, language: Language): string[] {
  const say = workshopTexts[language];
  const { rung, plays } = exerciseNamed(name);
  const paths = filesOf(exerciseNamed(name)).map((path) => `${fromHere(folder)}/${path}`);
  const [files, toPlay] = isHunt(name)
    ? [
        [wrap(say.huntFiles, 79, ''), `    ${fromHere(folder)}`],
        [`run ${rung}`, 'trial'],
      ]
    : [[say.files, ...paths.map((path) => `    ${path}`)], plays];
  const inLanguage = languageOption(language);
  return [
    files.join('\n'),
    [say.tryIt, ...toPlay.map((play) => `    npx lockstep mine ${play}`)].join('\n'),
    `${say.hintIs}\n    npx lockstep ${commandOf(name)} --hint${inLanguage}`,
    `${say.isItMended}\n    npx lockstep verify mine${inLanguage}`,
  ];
}

const commandOf = (name: string): string =>
  isHunt(name) ? `hunt-bug ${name.slice(4)}` : `exercise ${name}`;
