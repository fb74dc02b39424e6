/** `exercise`, `hunt-bug`, `mine` and `verify`: a learner begins an exercise, and plays it. */
import { z } from 'zod';
import { json, language, list } from '../lab/commands/options.ts';
import { commandRow, type Given } from '../lab/commands/row.ts';
import type { WorkFolders } from '../lab/environment/work-folders.ts';
import { colons } from '../lab/report/file-words.ts';
import { wrap } from '../lab/report/wrap.ts';
import type { Bilingual } from '../lab/stage/result.ts';
import {
  exerciseNamed,
  exerciseNames,
  huntName,
  hunts,
  isHunt,
} from '../lab/workshop/exercises.ts';
import { terminalText } from '../lab/workshop/markdown.ts';
import { filesOf, Mine } from '../lab/workshop/mine.ts';
import { readProgress, type Seen, saveProgress } from '../lab/workshop/progress.ts';
import { marks, seenIn, seenWords } from '../lab/workshop/step-text.ts';
import { taskNamed } from '../lab/workshop/steps.ts';
import { languageOption, workshopTexts } from '../lab/workshop/texts.ts';
import { copyOf, runOn, verify } from '../lab/workshop/verify.ts';
import { flag, wholeNumber } from '../service/operate/words.ts';
import type { Language } from '../texts/texts.ts';
import { type AddCommand, command } from './command.ts';
import { fromHere, print, progress, setExitCode } from './output.ts';

/** What `--solution` shows is not the same for an exercise and a hunt. */
const optionsWith = (solution: Bilingual) => ({
  list,
  solution: { schema: flag, ...solution },
  again: {
    schema: flag,
    en: 'anew; what you wrote is kept beside it',
    zh: '从头开始；你写的会留在旁边',
  },
  hint: { schema: flag, en: 'one hint more', zh: '再给一条提示' },
  language,
});

const exerciseRow = commandRow({
  name: 'exercise',
  about: {
    en: 'begin an exercise: a rung without a defence, in files that you mend',
    zh: '开始一道练习：一个少了一道防线的方案，由你在文件里修好',
  },
  arguments: {
    name: {
      schema: z.string().optional(),
      en: 'a name from the list that it prints without one',
      zh: '不写名字就全部列出来',
    },
  },
  options: optionsWith({
    en: 'the files as the project has them, and why',
    zh: '项目里的原文件，以及为什么',
  }),
});

export const addExercise = command(exerciseRow, (folders, { name, list, ...options }) =>
  list || name === undefined
    ? listTasks(exerciseNames, options.language)
    : begin(folders, name, options),
);

const huntRow = commandRow({
  name: 'hunt-bug',
  about: {
    en: 'begin a bug hunt: the final rung with a defect that real shops had',
    zh: '开始找 bug：最终方案里埋了一个真实商城出过的缺陷',
  },
  arguments: {
    number: {
      schema: wholeNumber(1, hunts.length).optional(),
      en: `1 to ${hunts.length}; without it they are listed`,
      zh: `1 到 ${hunts.length}；不写就全部列出来`,
    },
  },
  options: optionsWith({
    en: 'the files as the project has them, and the defect',
    zh: '项目里的原文件，以及缺陷是什么',
  }),
});

export const addHuntBug = command(huntRow, (folders, { number, list, ...options }) => {
  const names = hunts.map((_, index) => huntName(index + 1));
  if (list || number === undefined) listTasks(names, options.language);
  else begin(folders, huntName(number), options);
});

function listTasks(names: readonly string[], language: Language): void {
  for (const name of names) console.log(wrap(`${name}: ${taskNamed(name, language).title}`));
}

type Begin = Omit<Given<ReturnType<typeof optionsWith>>, 'list'>;

function begin(folders: WorkFolders, name: string, options: Begin): void {
  const { hint, language } = options;
  console.log(
    hint ? nextHint(folders, name, language) : begun(folders, name, options).join('\n\n'),
  );
}

/** Begun already, it goes on: nothing that the learner wrote is overwritten. */
function begun(folders: WorkFolders, name: string, options: Begin): string[] {
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

function taskLines(name: string, { solution: isSolved, language }: Begin): string[] {
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

/** One hint more, and the solution after the last one. */
export function nextHint({ workshopHome }: WorkFolders, name: string, language: Language): string {
  const say = workshopTexts[language];
  const task = taskNamed(name, language);
  const hints = [...task.hints, ...(isHunt(name) ? [filesHint(name, language)] : [])];
  const now = readProgress(workshopHome);
  const shown = now.hints[name] ?? 0;
  const next = hints[shown];
  if (next === undefined) return `${say.lastHint}\n\n${terminalText(task.solution)}`;
  saveProgress(workshopHome, { ...now, hints: { ...now.hints, [name]: shown + 1 } });
  return `${say.hintOf(shown + 1, hints.length)}\n\n${terminalText(next)}`;
}

const filesHint = (name: string, language: Language): string =>
  [
    `${workshopTexts[language].filesHint}\n`,
    ...filesOf(exerciseNamed(name)).map((path) => `    ${path}`),
  ].join('\n');

const mineRow = commandRow({
  name: 'mine',
  about: {
    en: 'any command, on a copy of the project with your files of the exercise',
    zh: '任意命令，跑在带有你的练习文件的项目副本上',
  },
  arguments: {
    command: {
      schema: z.array(z.string()),
      en: 'run lua-stream; race release-after-expiry --rung redis-owner',
      zh: '例如 run lua-stream；race release-after-expiry --rung redis-owner',
    },
  },
  options: {},
});

/** All that follows is of the command that it runs. */
export const addMine: AddCommand = (...where) => {
  const run = command(mineRow, async ({ workshopHome, runsFolder }, given) => {
    const copy = await copyOf(new Mine(workshopHome), runsFolder);
    process.exitCode = await runOn(copy, given.command);
  });
  return run(...where).passThroughOptions();
};

const verifyRow = commandRow({
  name: 'verify',
  about: {
    en: 'play what your exercise must survive: its races, its rush and its contract',
    zh: '把你的练习必须扛住的都跑一遍：竞态、抢购、契约测试',
  },
  arguments: {
    mine: {
      schema: z.string().optional(),
      en: 'always `mine`: your files',
      zh: '总是 `mine`：你的文件',
    },
  },
  options: { language, json },
});

export const addVerify = command(verifyRow, verifyMine);

/** One line for each play, and why it is not as claimed. */
async function verifyMine(
  { runsFolder, workshopHome }: WorkFolders,
  { json, language }: { readonly json: boolean; readonly language: Language },
): Promise<void> {
  const say = workshopTexts[language];
  const mine = new Mine(workshopHome);
  const name = mine.name();
  const copy = await copyOf(mine, runsFolder);
  const all: Seen[] = [];
  for await (const seen of verify(copy, exerciseNamed(name))) {
    all.push(seen);
    progress(linesOf(seen, language));
  }
  const now = readProgress(workshopHome);
  saveProgress(workshopHome, { ...now, exercises: { ...now.exercises, [name]: all } });
  const broken = all.filter(({ answer }) => answer !== 'yes').length;
  print(json, { exercise: name, plays: all }, () =>
    broken === 0 ? say.allMended(name) : say.broken(name, broken, all.length),
  );
  setExitCode(all.map(({ answer }) => answer));
}

function linesOf(seen: Seen, language: Language): string {
  const { play, answer, reasons, replay } = seenIn(language, seen);
  const colon = colons[language];
  const head = wrap(
    `${marks[answer]} ${play}${colon}${seenWords(seen, workshopTexts[language].asItMust, language)}`,
  );
  if (answer === 'yes') return head;
  const why = reasons.map((reason) => wrap(`  ${reason}`, 79, '    '));
  const shown = replay ? [`  ${workshopTexts[language].replay}${colon}${replay}`] : [];
  return [head, ...why, ...shown].join('\n');
}
