import { drillNames, drills, isDrillName } from '../lab/drills/drills.ts';
import type { Database } from '../lab/environment/servers/database.ts';
import { labError } from '../lab/errors.ts';
import { plannedDrill } from '../lab/report/planned.ts';
import { wrap } from '../lab/report/wrap.ts';
import type { Language } from '../texts/texts.ts';
import { database, json, language, minutes, whole } from './options.ts';
import { type AddCommand, type JsonOption, print, type WorkFolders } from './output.ts';
import { playExperiment } from './play.ts';

interface DrillCommand extends JsonOption {
  readonly database?: Database;
  readonly minutes: number;
  readonly seed: number;
  readonly times: number;
  readonly language: Language;
}

export const addDrill: AddCommand = (program, folders) =>
  program
    .command('drill')
    .description('load, faults and an audit: what the faults cost, and what was lost')
    .argument('[name]', 'a name from `lockstep drill --list`', 'kill-storm')
    .option('--list', 'show the drills', false)
    .option('--minutes <n>', 'how long the load lasts, in a drill that has a length', minutes, 0.5)
    .option(
      '--seed <n>',
      'decides the faults, their order, and that of the users',
      whole(0, 2 ** 31),
      1,
    )
    .option(
      '--times <n>',
      'number of runs; the report is of the first that is not held',
      whole(1, 1_000),
      1,
    )
    .addOption(database())
    .addOption(language())
    .addOption(json())
    .action((name: string, { list, ...options }: DrillCommand & { list: boolean }) =>
      list ? listDrills(options) : drill(folders, name, options),
    );

function drill(
  folders: WorkFolders,
  name: string,
  { json, seed, minutes, times, database, language }: DrillCommand,
): Promise<void> {
  if (!isDrillName(name)) throw labError('UNKNOWN_DRILL', name, drillNames);
  return playExperiment(folders, {
    ...plannedDrill(name, { seed, minutes }),
    ...{ times, database, json, language },
  });
}

function listDrills({ json, language }: Pick<DrillCommand, 'json' | 'language'>): void {
  const all = drillNames.map((name) => ({ name, about: drills[name].about[language] }));
  print(json, all, () => all.map(({ name, about }) => wrap(`${name}: ${about}`)).join('\n'));
}
