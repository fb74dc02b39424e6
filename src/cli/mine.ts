import { wrap } from '../lab/report/wrap.ts';
import { exerciseNamed } from '../lab/workshop/find-exercise.ts';
import { Mine } from '../lab/workshop/mine.ts';
import { copyOf, runOn, type Seen, verify } from '../lab/workshop/verify.ts';
import { json } from './options.ts';
import {
  type AddCommand,
  type JsonOption,
  type Place,
  print,
  progress,
  setExitCode,
} from './output.ts';

export const addMine: AddCommand = (program, place) =>
  program
    .command('mine')
    .description('any command, on a copy of the project with your files of the exercise')
    .argument('<command...>', 'run lua-stream; race release-after-expiry --rung redis-owner')
    .allowUnknownOption()
    .helpOption(false)
    .action(async (words: string[]) => {
      const mine = new Mine();
      const copy = await copyOf(mine, exerciseNamed(mine.name()), place.runsFolder);
      process.exitCode = await runOn(copy, words);
    });

export const addVerify: AddCommand = (program, place) =>
  program
    .command('verify')
    .description('play what your exercise must survive: its races, its rush and its contract')
    .argument('[mine]', 'always `mine`: your files')
    .addOption(json())
    .action((_: string | undefined, { json }: JsonOption) => verifyMine(place, json));

const marks = { yes: '✓', no: '✗', unknown: '?' } as const;

/** One line for each play, and why it is not as claimed. */
async function verifyMine({ runsFolder }: Place, json: boolean): Promise<void> {
  const mine = new Mine();
  const name = mine.name();
  const exercise = exerciseNamed(name);
  const copy = await copyOf(mine, exercise, runsFolder);
  const all: Seen[] = [];
  for await (const verified of verify(copy, exercise)) {
    all.push(verified);
    progress(linesOf(verified));
  }
  const broken = all.filter(({ answer }) => answer !== 'yes');
  print(json, { exercise: name, plays: all }, () =>
    broken.length === 0
      ? `${name}: mended. All is as the ladder claims.`
      : `${name}: not mended yet, ${broken.length} of ${all.length} are not as the ladder claims.`,
  );
  setExitCode(all.map(({ answer }) => answer));
}

function linesOf({ play, answer, verdict, reasons, replay }: Seen): string {
  const head = `${marks[answer]} ${play}${verdict ? `: ${verdict}` : ''}`;
  if (answer === 'yes') return head;
  const why = reasons.map((reason) => wrap(`  ${reason}`, 79, '    '));
  return [head, ...why, ...(replay ? [`  replay: ${replay}`] : [])].join('\n');
}
