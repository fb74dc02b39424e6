/** `workshop`: ten steps for a group, with its predictions and what it saw. */
import { z } from 'zod';
import { language } from '../lab/commands/options.ts';
import { commandRow } from '../lab/commands/row.ts';
import type { WorkFolders } from '../lab/environment/work-folders.ts';
import { labError } from '../lab/errors.ts';
import type { Bilingual } from '../lab/stage/result.ts';
import { Mine } from '../lab/workshop/mine.ts';
import {
  forgetProgress,
  type Progress,
  readProgress,
  saveProgress,
} from '../lab/workshop/progress.ts';
import { currentStep, stepInTerminal } from '../lab/workshop/step-text.ts';
import { stepsIn } from '../lab/workshop/steps.ts';
import { workshopTexts } from '../lab/workshop/texts.ts';
import { theProject, verifyPlay } from '../lab/workshop/verify.ts';
import { recordSteps, writeFindings, writeSlides } from '../lab/workshop/write-pages.ts';
import { wholeNumber } from '../service/operate/words.ts';
import type { Language } from '../texts/texts.ts';
import { type AddCommand, command } from './command.ts';
import { nextHint } from './exercise.ts';
import { fromHere, progress, setExitCode } from './output.ts';

/** A command of the workshop that shows where the group is, or what it has. */
const step = (
  name: string,
  about: Bilingual,
  run: (folders: WorkFolders, language: Language) => void | Promise<void>,
): AddCommand =>
  command(commandRow({ name, about, arguments: {}, options: { language } }), (folders, given) =>
    run(folders, given.language),
  );

const predictRow = commandRow({
  name: 'predict',
  about: {
    en: 'what will happen? One of the letters of the step',
    zh: '会发生什么？选这一步的一个字母',
  },
  arguments: {
    letter: {
      schema: z.string().transform((letter) => letter.toUpperCase()),
      en: 'A, B or C',
      zh: 'A、B 或 C',
    },
  },
  options: { language },
});

const goRow = commandRow({
  name: 'go',
  about: { en: 'any step', zh: '跳到任意一步' },
  arguments: {
    step: { schema: wholeNumber(1, 10), en: '1 to 10', zh: '1 到 10' },
  },
  options: { language },
});

const recordRow = commandRow({
  name: 'record',
  about: {
    en: 'for authors: play every step, and write what was printed into docs/workshop/',
    zh: '给作者用：把每一步跑一遍，输出写进 docs/workshop/',
  },
  arguments: {},
  options: {},
});

const steps: readonly AddCommand[] = [
  command(predictRow, (folders, { letter, language }) => predict(folders, letter, language)),
  step(
    'verify',
    {
      en: 'play the commands of the step: is it as the ladder claims?',
      zh: '把这一步的命令跑一遍：和预期一致吗？',
    },
    verify,
  ),
  step(
    'hint',
    { en: 'one hint more for the exercise of the step', zh: '这一步的练习，再给一条提示' },
    printHint,
  ),
  step('next', { en: 'the next step', zh: '下一步' }, (folders, language) =>
    move(folders, 1, language),
  ),
  step('back', { en: 'the step before', zh: '上一步' }, (folders, language) =>
    move(folders, -1, language),
  ),
  command(goRow, (folders, { step, language }) => save(folders, { step: step - 1 }, language)),
  step(
    'reset',
    {
      en: 'forget the predictions and results of this group, and put its files aside',
      zh: '忘掉这一组的预测和结果，把它的文件收到一边',
    },
    reset,
  ),
  step(
    'findings',
    {
      en: 'one page for the group: its predictions, and what it saw',
      zh: '给小组的一页：预测了什么，看到了什么',
    },
    async ({ runsFolder, workshopHome }, language) =>
      console.log(await writeFindings(runsFolder, readProgress(workshopHome), language)),
  ),
  step(
    'slides',
    { en: 'one page for the projector, with the speaker’s notes', zh: '投影用的一页，带讲稿' },
    ({ runsFolder }, language) => console.log(writeSlides(runsFolder, language)),
  ),
  command(recordRow, ({ runsFolder }) => recordSteps(theProject(runsFolder), progress)),
];

const workshopRow = commandRow({
  name: 'workshop',
  about: {
    en: 'ten steps for a group: predict, play, read why; where it was left, it goes on',
    zh: '小组的十步：预测、运行、读原因；上次停在哪里，就从哪里继续',
  },
  arguments: {},
  options: { language },
});

export const addWorkshop: AddCommand = (...where) => {
  const [, folders, inLanguage] = where;
  const workshop = command(workshopRow, ({ workshopHome }, { language }) =>
    show(language, readProgress(workshopHome)),
  )(...where).enablePositionalOptions();
  for (const add of steps) add(workshop, folders, inLanguage);
  return workshop;
};

function show(language: Language, now: Progress): void {
  console.log(stepInTerminal(stepsIn(language), now, language));
}

function save({ workshopHome: home }: WorkFolders, changed: Partial<Progress>, language: Language) {
  const now = { ...readProgress(home), ...changed };
  saveProgress(home, now);
  show(language, now);
}

function predict(folders: WorkFolders, letter: string, language: Language): void {
  const now = readProgress(folders.workshopHome);
  const { choices } = currentStep(stepsIn(language), now);
  const letters = choices.map((choice) => choice.letter);
  if (!letters.includes(letter)) throw labError('UNKNOWN_CHOICE', letter, letters);
  save(folders, { predictions: { ...now.predictions, [now.step]: letter } }, language);
}

/** @throws NOT_PREDICTED */
async function verify(folders: WorkFolders, language: Language): Promise<void> {
  const now = readProgress(folders.workshopHome);
  const { plays } = currentStep(stepsIn(language), now);
  if (now.predictions[now.step] === undefined) throw labError('NOT_PREDICTED');
  const seen = [];
  for (const words of plays) {
    progress(`\n$ npx lockstep ${words.join(' ')}`);
    seen.push((await verifyPlay(theProject(folders.runsFolder), words, true)).seen);
  }
  console.log('');
  save(folders, { seen: { ...now.seen, [now.step]: seen } }, language);
  setExitCode(seen.map(({ answer }) => answer));
}

function move(folders: WorkFolders, steps: 1 | -1, language: Language): void {
  const last = stepsIn(language).length - 1;
  const step = Math.min(last, Math.max(0, readProgress(folders.workshopHome).step + steps));
  save(folders, { step }, language);
}

/** Those of the exercise that was begun; before one was, of that of the step. */
function printHint(folders: WorkFolders, language: Language): void {
  const { exercise } = currentStep(stepsIn(language), readProgress(folders.workshopHome));
  const ofStep = /npx lockstep exercise ([\w-]+)/.exec(exercise)?.[1];
  const name = new Mine(folders.workshopHome).begun() ?? ofStep;
  console.log(name ? nextHint(folders, name, language) : workshopTexts[language].noHints);
}

function reset({ workshopHome }: WorkFolders, language: Language): void {
  forgetProgress(workshopHome);
  const say = workshopTexts[language];
  const kept = new Mine(workshopHome).reset();
  console.log([say.wasReset, ...(kept ? [`${say.keptIn} ${fromHere(kept)}`] : [])].join('\n'));
}
