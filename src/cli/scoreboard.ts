import { InvalidArgumentError } from 'commander';
import type { Database } from '../lab/environment/servers/database.ts';
import { databaseOf, withLab } from '../lab/environment/session.ts';
import { timeStamp, writeFolder } from '../lab/report/folder.ts';
import { describeMachine } from '../lab/report/machine.ts';
import { scoreboardMarkdown } from '../lab/report/scoreboard-markdown.ts';
import { scoreboardPage } from '../lab/report/scoreboard-page.ts';
import { scoreboardText } from '../lab/report/scoreboard-text.ts';
import { agreement, judgedCell } from '../lab/scoreboard/cell.ts';
import { faultNames, scoredRungs } from '../lab/scoreboard/columns.ts';
import { playScoreboard } from '../lab/scoreboard/play-all.ts';
import { database, json, onDatabase, whole } from './options.ts';
import {
  type AddCommand,
  type JsonOption,
  type Place,
  print,
  progress,
  setExitCode,
} from './output.ts';

interface ScoreboardOptions extends JsonOption {
  readonly database?: Database;
  readonly rungs?: readonly string[];
  readonly faults?: readonly string[];
  readonly times: number;
}

const partMs = 3_000;

const some = (known: readonly string[]) => (text: string) => {
  const names = text.split(',');
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`There is no "${unknown}". There are: ${known.join(', ')}.`);
  return names;
};

export const addScoreboard: AddCommand = (program, place) =>
  program
    .command('scoreboard')
    .description(
      'every lock against every fault of a lock: what held, what broke, how long it was away',
    )
    .option('--rungs <names>', 'only these rungs, with commas between them', some(scoredRungs))
    .option('--faults <names>', 'only these faults, with commas between them', some(faultNames))
    .option('--times <n>', 'number of plays of each cell', whole(1, 100), 1)
    .addOption(database())
    .addOption(json())
    .action((options: ScoreboardOptions) => scoreboard(place, options));

async function scoreboard(
  { labFolder, runsFolder }: Place,
  { json, rungs, faults, times, database }: ScoreboardOptions,
): Promise<void> {
  const used = databaseOf(labFolder, database);
  const chosen = { rungs: rungs ?? scoredRungs, faults: faults ?? faultNames, times, partMs };
  const cells = await withLab(
    labFolder,
    progress,
    (lab, signal, untilInterrupted) =>
      untilInterrupted(playScoreboard(lab, { ...chosen, signal, progress })),
    { database: used },
  );
  const command = [
    `npx lockstep scoreboard${onDatabase(used)}`,
    ...(rungs ? [`--rungs ${rungs.join(',')}`] : []),
    ...(faults ? [`--faults ${faults.join(',')}`] : []),
    ...(times > 1 ? [`--times ${times}`] : []),
  ].join(' ');
  const runs = [{ command, time: timeStamp() }];
  const record = { runs, machine: await describeMachine(used), cells };
  const data = { ...record, cells: cells.map(judgedCell) };
  const folder = writeFolder(runsFolder, 'scoreboard', {
    'index.html': scoreboardPage(record),
    'report.md': scoreboardMarkdown(record),
    'scoreboard.json': data,
  });
  print(json, { ...data, folder }, () => scoreboardText(record, folder));
  setExitCode(cells.map(agreement));
}
