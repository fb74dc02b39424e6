import { labError } from '../lab/errors.ts';
import { Mine } from '../lab/workshop/mine.ts';
import {
  forgetProgress,
  type Progress,
  readProgress,
  saveProgress,
} from '../lab/workshop/progress.ts';
import { recordSteps } from '../lab/workshop/record.ts';
import { stepInTerminal } from '../lab/workshop/step-text.ts';
import { type Step, stepsIn } from '../lab/workshop/steps.ts';
import { workshopTexts } from '../lab/workshop/texts.ts';
import { theProject, verifyPlay } from '../lab/workshop/verify.ts';
import { writeFindings, writeSlides } from '../lab/workshop/write-pages.ts';
import type { Language } from '../texts/texts.ts';
import { nextHint } from './hint.ts';
import { language, whole } from './options.ts';
import { type AddCommand, fromHere, progress, setExitCode, type WorkFolders } from './output.ts';

interface WorkshopOptions {
  readonly language: Language;
}

export const addWorkshop: AddCommand = (program, folders) => {
  const workshop = program
    .command('workshop')
    .enablePositionalOptions()
    .description('ten steps for a group: predict, play, read why; where it was left, it goes on')
    .addOption(language())
    .action((options: WorkshopOptions) => show(options, readProgress(folders.workshopHome)));
  const add = (name: string, description: string) =>
    workshop.command(name).description(description).addOption(language());
  add('predict', 'what will happen? One of the letters of the step')
    .argument('<letter>', 'A, B or C', (letter) => letter.toUpperCase())
    .action((letter: string, options: WorkshopOptions) => predict(folders, letter, options));
  add('verify', 'play the commands of the step: is it as the ladder claims?').action(
    (options: WorkshopOptions) => verify(folders, options),
  );
  add('hint', 'one hint more for the exercise of the step').action((options: WorkshopOptions) =>
    hint(folders, options),
  );
  add('next', 'the next step').action((options: WorkshopOptions) => move(folders, 1, options));
  add('back', 'the step before').action((options: WorkshopOptions) => move(folders, -1, options));
  add('go', 'any step')
    .argument('<step>', '1 to 10', whole(1, 10))
    .action((step: number, options: WorkshopOptions) => goTo(folders, step, options));
  add('reset', 'forget the predictions and results of this group, and put its files aside').action(
    (options: WorkshopOptions) => reset(folders, options),
  );
  add('findings', 'one page for the group: its predictions, and what it saw').action(
    async ({ language }: WorkshopOptions) =>
      console.log(
        await writeFindings(folders.runsFolder, readProgress(folders.workshopHome), language),
      ),
  );
  add('slides', 'one page for the projector, with the speaker’s notes').action(
    ({ language }: WorkshopOptions) => console.log(writeSlides(folders.runsFolder, language)),
  );
  workshop
    .command('record')
    .description('for authors: play every step, and write what was printed into docs/workshop/')
    .action(() => recordSteps(theProject(folders.runsFolder), progress));
};

function show({ language }: WorkshopOptions, now: Progress): void {
  console.log(stepInTerminal(stepsIn(language), now, language));
}

function currentStep(steps: readonly Step[], { step }: Progress): Step {
  const found = steps[step];
  if (!found) throw new RangeError(`the workshop has ${steps.length} steps`);
  return found;
}

function save(
  { workshopHome: home }: WorkFolders,
  changed: Partial<Progress>,
  options: WorkshopOptions,
) {
  const now = { ...readProgress(home), ...changed };
  saveProgress(home, now);
  show(options, now);
}

function predict(folders: WorkFolders, letter: string, options: WorkshopOptions): void {
  const now = readProgress(folders.workshopHome);
  const { choices } = currentStep(stepsIn(options.language), now);
  const letters = choices.map((choice) => choice.letter);
  if (!letters.includes(letter)) throw labError('UNKNOWN_CHOICE', letter, letters);
  save(folders, { predictions: { ...now.predictions, [now.step]: letter } }, options);
}

/** @throws NOT_PREDICTED */
async function verify(folders: WorkFolders, options: WorkshopOptions): Promise<void> {
  const now = readProgress(folders.workshopHome);
  const { plays } = currentStep(stepsIn(options.language), now);
  if (now.predictions[now.step] === undefined) throw labError('NOT_PREDICTED');
  const seen = [];
  for (const words of plays) {
    progress(`\n$ npx lockstep ${words.join(' ')}`);
    const { printed: _, ...play } = await verifyPlay(theProject(folders.runsFolder), words, true);
    seen.push(play);
  }
  console.log('');
  save(folders, { seen: { ...now.seen, [now.step]: seen } }, options);
  setExitCode(seen.map(({ answer }) => answer));
}

function move(folders: WorkFolders, steps: 1 | -1, options: WorkshopOptions): void {
  const last = stepsIn(options.language).length - 1;
  const step = Math.min(last, Math.max(0, readProgress(folders.workshopHome).step + steps));
  save(folders, { step }, options);
}

const goTo = (folders: WorkFolders, number: number, options: WorkshopOptions): void =>
  save(folders, { step: number - 1 }, options);

/** Those of the exercise that was begun; before one was, of that of the step. */
function hint(folders: WorkFolders, options: WorkshopOptions): void {
  const { language } = options;
  const { exercise } = currentStep(stepsIn(language), readProgress(folders.workshopHome));
  const ofStep = /npx lockstep exercise ([\w-]+)/.exec(exercise)?.[1];
  const name = new Mine(folders.workshopHome).begun() ?? ofStep;
  console.log(name ? nextHint(folders, name, language) : workshopTexts[language].noHints);
}

function reset({ workshopHome }: WorkFolders, { language }: WorkshopOptions): void {
  forgetProgress(workshopHome);
  const say = workshopTexts[language];
  const kept = new Mine(workshopHome).reset();
  console.log([say.wasReset, ...(kept ? [`${say.keptIn} ${fromHere(kept)}`] : [])].join('\n'));
}
