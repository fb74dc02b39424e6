import { countBy } from '../grouping.ts';
import type { DrillOptions, DrillResult } from '../lab/drills/drill.ts';
import { type DrillName, drillNames, drills } from '../lab/drills/drills.ts';
import { Timeline } from '../lab/drills/timeline.ts';
import type { Lab } from '../lab/environment/lab.ts';
import type { Database } from '../lab/environment/servers/database.ts';
import { databaseOf, withLab } from '../lab/environment/session.ts';
import { UnknownDrill } from '../lab/errors.ts';
import { drillPage } from '../lab/report/drill-page.ts';
import { drillText } from '../lab/report/drill-text.ts';
import { factsFiles } from '../lab/report/facts-files.ts';
import { timeStamp, writeFolder } from '../lab/report/folder.ts';
import { printLive } from '../lab/report/live-lines.ts';
import { describeMachine } from '../lab/report/machine.ts';
import { database, json, minutes, onDatabase, whole } from './options.ts';
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
  readonly times: number;
}

export const addDrill: AddCommand = (program, place) =>
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
    .addOption(json())
    .action((name: string, options: DrillCommand) =>
      options.list ? list(options.json) : drill(place, name, options),
    );

async function drill(
  { labFolder, runsFolder }: Place,
  name: string,
  { json, seed, minutes: length, times, database }: DrillCommand,
): Promise<void> {
  if (!isDrillName(name)) throw new UnknownDrill(name, drillNames);
  const options = { seed, minutes: length };
  const used = databaseOf(labFolder, database);
  const runs = await withLab(
    labFolder,
    progress,
    (lab, signal) => runTimes(times, () => runDrill(lab, name, { ...options, signal }, json)),
    { database: used },
  );
  const { timeline, ...shown } = runs.find(({ verdict }) => verdict !== 'held') ?? firstOf(runs);
  const { facts, ...result } = shown;
  const own = `--minutes ${length} --seed ${seed}`;
  const command = `npx lockstep drill ${name} ${own}${onDatabase(used)}`;
  const machine = await describeMachine(used);
  const recorded = timeline.recorded();
  const { about } = drills[name];
  const record = { drill: name, about, command, time: timeStamp(), machine, result, recorded };
  const folder = writeFolder(runsFolder, `drill-${name}`, {
    'index.html': drillPage(record),
    'drill.json': { command, machine, ...result, ...recorded },
    ...factsFiles(facts.map((each) => ({ facts: each }))),
  });
  const counts = countBy(runs.map(({ verdict }) => verdict));
  print(json, { drill: name, seed, minutes: length, times, counts, ...result, folder }, () =>
    [
      `\n${name}, ${length} minutes, seed ${seed}`,
      drillText(result),
      ...(times > 1 ? [`run ${times} times: ${countsText(counts)}`] : []),
      '',
      `repeat it: ${command}`,
      `report: ${folder}/index.html`,
    ].join('\n'),
  );
  setExitCode(runs.map(({ verdict }) => answerOf[verdict]));
}

type DrillRun = DrillResult & { readonly timeline: Timeline };

async function runDrill(
  lab: Lab,
  name: DrillName,
  options: Pick<DrillOptions, 'seed' | 'minutes' | 'signal'>,
  isQuiet: boolean,
): Promise<DrillRun> {
  options.signal.throwIfAborted();
  const timeline = new Timeline();
  const endLive = isQuiet ? () => {} : printLive(timeline, progress);
  const run = drills[name].run(lab, { ...options, progress, recorder: timeline });
  return { ...(await run.finally(endLive)), timeline };
}

async function runTimes(times: number, run: () => Promise<DrillRun>): Promise<DrillRun[]> {
  const runs: DrillRun[] = [];
  while (runs.length < times) {
    runs.push(await run());
    if (times > 1) progress(`${runs.length} of ${times}: ${runs.at(-1)?.verdict}`);
  }
  return runs;
}

function firstOf([first]: readonly DrillRun[]): DrillRun {
  if (!first) throw new RangeError('a drill is run at least once');
  return first;
}

const countsText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(', ');

function list(json: boolean): void {
  const all = drillNames.map((name) => ({ name, about: drills[name].about }));
  print(json, all, () => all.map(({ name, about }) => `${name}: ${about}`).join('\n'));
}

const isDrillName = (name: string): name is DrillName => Object.hasOwn(drills, name);
