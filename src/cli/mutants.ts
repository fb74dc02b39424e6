import type { Database } from '../lab/environment/servers/database.ts';
import { withLab } from '../lab/environment/session.ts';
import { UnknownMutant } from '../lab/errors.ts';
import { isMutantName, type MutantName, mutantNames, mutants } from '../lab/mutants/mutants.ts';
import { checkMutants, type MutantResult, runMutants } from '../lab/mutants/run-mutants.ts';
import { trials } from '../lab/mutants/trials.ts';
import { writeFolder } from '../lab/report/folder.ts';
import { mutantsMarkdown, mutantsText } from '../lab/report/mutants-text.ts';
import { database, json, whole } from './options.ts';
import {
  type AddCommand,
  type Answer,
  answerOf,
  type JsonOption,
  type Place,
  print,
  progress,
  setExitCode,
} from './output.ts';

interface MutantsCommand extends JsonOption {
  readonly list: boolean;
  readonly only: readonly MutantName[];
  readonly times: number;
  readonly database?: Database;
}

function chosen(text: string, earlier: readonly MutantName[] = []): readonly MutantName[] {
  if (!isMutantName(text)) throw new UnknownMutant(text, mutantNames);
  return [...earlier, text];
}

export const addMutants: AddCommand = (program, place) =>
  program
    .command('mutants')
    .description('remove one defence of the final rung at a time: a check must turn red')
    .option('--list', 'show the mutants', false)
    .option('--only <name>', 'this mutant; may be given several times', chosen, [])
    .option('--times <n>', 'number of runs of each', whole(1, 1_000), 1)
    .addOption(database())
    .addOption(json())
    .action((options: MutantsCommand) =>
      options.list ? list(options.json) : runAll(place, options),
    );

async function runAll(
  { labFolder, runsFolder }: Place,
  { only, times, json, database }: MutantsCommand,
): Promise<void> {
  const names = only.length > 0 ? only : mutantNames;
  checkMutants(names);
  const results = await withLab(
    labFolder,
    progress,
    async (lab, signal, untilInterrupted) => {
      const all: MutantResult[] = [];
      for (let run = 0; run < times; run++)
        all.push(...(await runMutants(lab, names, signal, progress, untilInterrupted)));
      return all;
    },
    { database },
  );
  const text = mutantsText(results);
  const files = {
    'results.json': results,
    'report.md': mutantsMarkdown(results),
    'report.txt': text,
  };
  const folder = writeFolder(runsFolder, 'mutants', files);
  print(json, results, () => `\n${text}\n\nreport: ${folder}/report.md`);
  setExitCode(results.flatMap(answersOf));
}

/** A mutant must be seen, and the real rung must hold under the same fault. */
function answersOf({ fate, real }: MutantResult): Answer[] {
  const seen = { red: 'yes', survived: 'no', unknown: 'unknown' } as const;
  return [seen[fate], answerOf[real.verdict]];
}

function list(json: boolean): void {
  const all = mutantNames.map((name) => {
    const { defence, trial, turnsRed } = mutants[name];
    return { name, defence, trial, fault: trials[trial].fault, turnsRed };
  });
  print(json, all, () =>
    all
      .map(({ name, defence, fault, turnsRed }) =>
        [name, `  removed: ${defence}`, `  fault:   ${fault}`, `  red:     ${turnsRed}`].join('\n'),
      )
      .join('\n'),
  );
}
