import { colons } from '../lab/report/file-words.ts';
import { wrap } from '../lab/report/wrap.ts';
import { exerciseNamed } from '../lab/workshop/find-exercise.ts';
import { Mine } from '../lab/workshop/mine.ts';
import { readProgress, saveProgress } from '../lab/workshop/progress.ts';
import { marks, seenIn, seenWords } from '../lab/workshop/step-text.ts';
import { workshopTexts } from '../lab/workshop/texts.ts';
import { copyOf, runOn, type Seen, verify } from '../lab/workshop/verify.ts';
import type { Language } from '../texts/texts.ts';
import { json, language } from './options.ts';
import {
  type AddCommand,
  type JsonOption,
  print,
  progress,
  setExitCode,
  type WorkFolders,
} from './output.ts';

export const addMine: AddCommand = (program, folders) =>
  program
    .command('mine')
    .description('any command, on a copy of the project with your files of the exercise')
    .argument('<command...>', 'run lua-stream; race release-after-expiry --rung redis-owner')
    .allowUnknownOption()
    .helpOption(false)
    .action(async (words: string[]) => {
      const copy = await copyOf(new Mine(folders.workshopHome), folders.runsFolder);
      process.exitCode = await runOn(copy, words);
    });

interface VerifyOptions extends JsonOption {
  readonly language: Language;
}

export const addVerify: AddCommand = (program, folders) =>
  program
    .command('verify')
    .description('play what your exercise must survive: its races, its rush and its contract')
    .argument('[mine]', 'always `mine`: your files')
    .addOption(language())
    .addOption(json())
    .action((_: string | undefined, options: VerifyOptions) => verifyMine(folders, options));

/** One line for each play, and why it is not as claimed. */
async function verifyMine(
  { runsFolder, workshopHome }: WorkFolders,
  options: VerifyOptions,
): Promise<void> {
  const say = workshopTexts[options.language];
  const mine = new Mine(workshopHome);
  const name = mine.name();
  const copy = await copyOf(mine, runsFolder);
  const all: Seen[] = [];
  for await (const seen of verify(copy, exerciseNamed(name))) {
    all.push(seen);
    progress(linesOf(seen, options.language));
  }
  const now = readProgress(workshopHome);
  saveProgress(workshopHome, { ...now, exercises: { ...now.exercises, [name]: all } });
  const broken = all.filter(({ answer }) => answer !== 'yes').length;
  print(options.json, { exercise: name, plays: all }, () =>
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
