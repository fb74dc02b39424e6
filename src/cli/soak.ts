import { Timeline } from '../lab/drills/timeline.ts';
import type { Lab } from '../lab/environment/lab.ts';
import type { Database } from '../lab/environment/servers/database.ts';
import { databaseOf, withLab } from '../lab/environment/session.ts';
import { coverageText } from '../lab/report/coverage-text.ts';
import { drillPage } from '../lab/report/drill-page.ts';
import { drillText } from '../lab/report/drill-text.ts';
import { factsFiles } from '../lab/report/facts-files.ts';
import { timeStamp, writeFolder } from '../lab/report/folder.ts';
import { describeMachine, type Machine } from '../lab/report/machine.ts';
import { wrap } from '../lab/report/wrap.ts';
import { type SoakResult, soak } from '../lab/soak/soak.ts';
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

interface SoakCommand extends JsonOption {
  readonly minutes: number;
  readonly seed: number;
  readonly gate: boolean;
  readonly database?: Database;
}

const about = 'a rush on lua-stream without end, and a fault at every checkpoint, in every state';

export const addSoak: AddCommand = (program, place) =>
  program
    .command('soak')
    .description(about)
    .option('--minutes <n>', 'how long the load and the faults last', minutes, 3)
    .option('--seed <n>', 'decides the faults, their order and their length', whole(0, 2 ** 31), 1)
    .option('--gate', 'every declared cell must be seen: give it --minutes 10', false)
    .addOption(database())
    .addOption(json())
    .action((options: SoakCommand) => run(place, options));

async function run({ labFolder, runsFolder }: Place, options: SoakCommand): Promise<void> {
  const { minutes: length, seed, gate } = options;
  const timeline = new Timeline();
  const used = databaseOf(labFolder, options.database);
  const play = (lab: Lab, signal: AbortSignal) =>
    soak(lab, {
      ...{ seed, minutes: length, isGated: gate },
      ...{ signal, progress: tell, recorder: timeline },
    });
  const { facts, coverage, played, ...result } = await withLab(labFolder, progress, play, {
    database: used,
  });
  const own = `--minutes ${length} --seed ${seed}${gate ? ' --gate' : ''}`;
  const command = `npx lockstep soak ${own}${onDatabase(used)}`;
  const machine = await describeMachine(used);
  const done = { facts, coverage, played, ...result };
  const folder = keep(runsFolder, { command, machine }, timeline, done);
  const shown = { minutes: length, seed, ...result, coverage, folder };
  print(options.json, shown, () =>
    [
      `\nsoak, ${length} minutes, seed ${seed}`,
      drillText(result),
      '',
      coverageText(coverage),
      '',
      `the same faults in the same order: ${command}`,
      `report: ${folder}/index.html`,
    ].join('\n'),
  );
  setExitCode([answerOf[result.verdict]]);
}

const tell = (line: string): void => progress(wrap(line, 79, '    '));

/** @returns the folder of the report. */
function keep(
  runsFolder: string,
  { command, machine }: { readonly command: string; readonly machine: Machine },
  timeline: Timeline,
  { facts, coverage, played, ...result }: SoakResult,
): string {
  const recorded = timeline.recorded();
  const record = { drill: 'soak', about, command, time: timeStamp(), machine, result, recorded };
  return writeFolder(runsFolder, 'soak', {
    'index.html': drillPage(record),
    'soak.json': { command, machine, ...result, coverage, ...recorded },
    'faults.jsonl': played.map((fault) => JSON.stringify(fault)).join('\n'),
    'coverage.txt': coverageText(coverage),
    ...factsFiles(facts.map((each) => ({ facts: each }))),
  });
}
