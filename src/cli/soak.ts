import type { Database } from '../lab/environment/servers/database.ts';
import { soak } from '../lab/soak/soak.ts';
import { database, json, minutes, whole } from './options.ts';
import type { AddCommand, JsonOption, WorkFolders } from './output.ts';
import { playExperiment } from './play.ts';

interface SoakCommand extends JsonOption {
  readonly minutes: number;
  readonly seed: number;
  readonly gate: boolean;
  readonly database?: Database;
}

export const addSoak: AddCommand = (program, folders) =>
  program
    .command('soak')
    .description(soak.about.en)
    .option('--minutes <n>', 'how long the load and the faults last', minutes, 3)
    .option('--seed <n>', 'decides the faults, their order and their length', whole(0, 2 ** 31), 1)
    .option('--gate', 'every declared cell must be seen: give it --minutes 10', false)
    .addOption(database())
    .addOption(json())
    .action((options: SoakCommand) => run(folders, options));

const run = (
  folders: WorkFolders,
  { minutes, seed, gate, database, json }: SoakCommand,
): Promise<void> =>
  playExperiment(folders, {
    ...{ name: 'soak', experiment: soak, options: { seed, minutes, isGated: gate } },
    command: `npx lockstep soak --minutes ${minutes} --seed ${seed}${gate ? ' --gate' : ''}`,
    ...{ times: 1, database, json },
  });
