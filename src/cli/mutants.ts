import type { Database } from '../lab/environment/servers/database.ts';
import { labError } from '../lab/errors.ts';
import { mutantTrials } from '../lab/mutants/mutant-trials.ts';
import { isMutantName, type MutantName, mutantNames, mutants } from '../lab/mutants/mutants.ts';
import { checkMutants } from '../lab/mutants/run-mutants.ts';
import { trials } from '../lab/mutants/trials.ts';
import { database, json, whole } from './options.ts';
import { type AddCommand, type JsonOption, print, type WorkFolders } from './output.ts';
import { playExperiment } from './play.ts';

interface MutantsCommand extends JsonOption {
  readonly list: boolean;
  readonly only: readonly MutantName[];
  readonly times: number;
  readonly database?: Database;
}

function chosen(text: string, earlier: readonly MutantName[] = []): readonly MutantName[] {
  if (!isMutantName(text)) throw labError('UNKNOWN_MUTANT', text, mutantNames);
  return [...earlier, text];
}

export const addMutants: AddCommand = (program, folders) =>
  program
    .command('mutants')
    .description('remove one defence of the final rung at a time: a check must turn red')
    .option('--list', 'show the mutants', false)
    .option('--only <name>', 'this mutant; may be given several times', chosen, [])
    .option('--times <n>', 'number of runs of each', whole(1, 1_000), 1)
    .addOption(database())
    .addOption(json())
    .action((options: MutantsCommand) =>
      options.list ? list(options.json) : runAll(folders, options),
    );

function runAll(
  folders: WorkFolders,
  { only, times, json, database }: MutantsCommand,
): Promise<void> {
  const names = only.length > 0 ? only : mutantNames;
  checkMutants(names);
  const chosen = only.map((name) => ` --only ${name}`).join('');
  return playExperiment(folders, {
    ...{ name: 'mutants', experiment: mutantTrials, options: { names }, times, database, json },
    command: `npx lockstep mutants${chosen}`,
  });
}

function list(json: boolean): void {
  const all = mutantNames.map((name) => {
    const { defence, trial, turnsRed } = mutants[name];
    return { name, defence, trial, fault: trials[trial].fault.en, turnsRed };
  });
  print(json, all, () =>
    all
      .map(({ name, defence, fault, turnsRed }) =>
        [name, `  removed: ${defence}`, `  fault:   ${fault}`, `  red:     ${turnsRed}`].join('\n'),
      )
      .join('\n'),
  );
}
