import {
  allRaces,
  defaults,
  type RaceOnRung,
  rushes,
  shortRaces,
} from '../lab/drills/demo-plan.ts';
import { type Run, type RunRequest, runRung } from '../lab/drills/run-rung.ts';
import { serialRuns } from '../lab/drills/serial-costs.ts';
import type { Lab } from '../lab/environment/lab.ts';
import { withConnections } from '../lab/environment/lab-connections.ts';
import type { Database } from '../lab/environment/servers/database.ts';
import { databaseOf, withLab } from '../lab/environment/session.ts';
import { raceOn } from '../lab/races/race-on.ts';
import type { PlayedRace } from '../lab/races/race-verdict.ts';
import { demoHead, headline, raceLine, runLines } from '../lab/report/demo-lines.ts';
import { withoutFacts } from '../lab/report/facts-files.ts';
import { writeRunFolder } from '../lab/report/run-folder.ts';
import { ladder } from '../ladder/rungs.ts';
import type { Language } from '../ladder/texts/texts.ts';
import { database, json, language, onDatabase } from './options.ts';
import {
  type AddCommand,
  asClaimed,
  type JsonOption,
  type Place,
  print,
  setExitCode,
} from './output.ts';
import { openStream, type Stream } from './stream.ts';

interface DemoOptions extends JsonOption {
  readonly database?: Database;
  readonly full: boolean;
  readonly language: Language;
}

export const addDemo: AddCommand = (program, place) =>
  program
    .command('demo')
    .description('run every rung and every race, and write a report')
    .option('--full', 'play each race of a fault on every rung that it could break', false)
    .addOption(language())
    .addOption(database())
    .addOption(json())
    .action((options: DemoOptions) => demo(place, options));

interface Results {
  readonly runs: Run[];
  readonly serial: Run[];
  readonly races: PlayedRace[];
}

async function demo({ labFolder, runsFolder }: Place, options: DemoOptions): Promise<void> {
  const results: Results = { runs: [], serial: [], races: [] };
  const used = databaseOf(labFolder, options.database);
  const command = commandLine(options.full, used);
  const writeReport = () => writeRunFolder(runsFolder, 'demo', { command, ...results }, used);
  const stream = openStream(options.json);
  try {
    const work = (lab: Lab, signal: AbortSignal) => runAll(results, lab, signal, options, stream);
    await withLab(labFolder, stream.progress, work, used);
  } catch (error) {
    stream.stop();
    if (results.runs.length > 0)
      stream.print(`Stopped early. Results so far: ${await writeReport()}/index.html`);
    throw error;
  }
  stream.stop();
  const folder = await writeReport();
  const runs = results.runs.map(({ result }) => result);
  const serial = results.serial.map(({ result }) => result);
  const races = results.races.map(withoutFacts);
  const all = [...runs, ...serial, ...races];
  print(options.json, { runs, serial, races, folder }, () => headline(runs, all, folder));
  setExitCode(asClaimed(all));
}

function commandLine(full: boolean, used: Database): string {
  const own = onDatabase(used);
  if (full) return `npx lockstep demo --full${own}`;
  return own === '' ? 'npm run demo' : `npm run demo --${own}`;
}

async function runAll(
  { runs, serial, races }: Results,
  lab: Lab,
  signal: AbortSignal,
  { full, language }: DemoOptions,
  stream: Stream,
): Promise<void> {
  const plan = rushes(defaults.seed);
  const comparisons = serialRuns(defaults.seed);
  const schedule = full ? allRaces : shortRaces;
  stream.expect(plan.length + comparisons.length + schedule.length);
  const runOne = async (request: RunRequest): Promise<Run> => {
    signal.throwIfAborted();
    stream.next(`${request.rung} on ${request.instances}`);
    await lab.ensure(request);
    return withConnections(lab, (connections) => runRung(request, lab, connections));
  };
  const playOne = async ({ race, rung }: RaceOnRung): Promise<PlayedRace> => {
    signal.throwIfAborted();
    stream.next(`race ${race} on ${rung}`);
    return raceOn(lab, race, rung, { progress: stream.note, signal });
  };
  stream.print(demoHead(defaults));
  for (const request of plan) {
    const run = await runOne(request);
    stream.print(runLines(run, runs.at(-1), ladder[run.result.rung].chapter, language));
    runs.push(run);
  }
  for (const request of comparisons) serial.push(await runOne(request));
  stream.print(
    '\nRaces, step by step: on the rung with the bug, then on the next rung, which fixes it\n',
  );
  for (const pair of schedule) {
    const race = await playOne(pair);
    stream.print(raceLine(race));
    races.push(race);
  }
}
