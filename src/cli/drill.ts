import { type DrillName, drillNames, drills } from '../lab/drills/drills.ts';
import type { Database } from '../lab/environment/servers/database.ts';
import { withLab } from '../lab/environment/session.ts';
import { UnknownDrill } from '../lab/errors.ts';
import { drillText } from '../lab/report/drill-text.ts';
import { factsFiles } from '../lab/report/facts-files.ts';
import { writeFolder } from '../lab/report/folder.ts';
import { describeMachine } from '../lab/report/machine.ts';
import { database, json, minutes, whole } from './options.ts';
import {
  type AddCommand,
  answerOf,
  type JsonOption,
  type Place,
  print,
  progress,
  setExitCode,
} from './output.ts';

interface DrillCommand extends JsonOption {
  readonly database?: Database;
  readonly list: boolean;
  readonly minutes: number;
  readonly seed: number;
}

export const addDrill: AddCommand = (program, place) =>
  program
    .command('drill')
    .description('load, faults and an audit: what the faults cost, and what was lost')
    .argument('[name]', 'a name from `lockstep drill --list`', 'kill-storm')
    .option('--list', 'show the drills', false)
    .option('--minutes <n>', 'how long the load and the faults last', minutes, 0.5)
    .option('--seed <n>', 'decides the faults and the order of the users', whole(0, 2 ** 31), 1)
    .addOption(database())
    .addOption(json())
    .action((name: string, options: DrillCommand) =>
      options.list ? list(options.json) : drill(place, name, options),
    );

async function drill(
  { labFolder, runsFolder }: Place,
  name: string,
  { json, seed, minutes: length, database }: DrillCommand,
): Promise<void> {
  if (!isDrillName(name)) throw new UnknownDrill(name, drillNames);
  const { facts, ...result } = await withLab(
    labFolder,
    progress,
    (lab, signal) => drills[name].run(lab, { seed, minutes: length, signal, progress }),
    database,
  );
  const again = `npx lockstep drill ${name} --minutes ${length} --seed ${seed}`;
  const machine = await describeMachine();
  const folder = writeFolder(runsFolder, `drill-${name}`, {
    'drill.json': { command: again, machine, ...result },
    ...factsFiles(facts.map((each) => ({ facts: each }))),
  });
  print(json, { drill: name, seed, minutes: length, ...result, folder }, () =>
    [
      `\n${name}, ${length} minutes, seed ${seed}`,
      drillText(result),
      '',
      `repeat it: ${again}`,
      `report: ${folder}/drill.json`,
    ].join('\n'),
  );
  setExitCode([answerOf[result.verdict]]);
}

function list(json: boolean): void {
  const all = drillNames.map((name) => ({ name, about: drills[name].about }));
  print(json, all, () => all.map(({ name, about }) => `${name}: ${about}`).join('\n'));
}

const isDrillName = (name: string): name is DrillName => Object.hasOwn(drills, name);
