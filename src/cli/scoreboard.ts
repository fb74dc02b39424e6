import { InvalidArgumentError } from 'commander';
import type { Database } from '../lab/environment/servers/database.ts';
import type { About, OwnReport } from '../lab/report/experiment-report.ts';
import { scoredCells } from '../lab/report/scoreboard-grid.ts';
import { scoreboardMarkdown } from '../lab/report/scoreboard-markdown.ts';
import { scoreboardText } from '../lab/report/scoreboard-text.ts';
import { type Cell, judgedCell } from '../lab/scoreboard/cell.ts';
import { faultNames, scoredRungs } from '../lab/scoreboard/columns.ts';
import { scoreboardExperiment } from '../lab/scoreboard/play-all.ts';
import { database, json, whole } from './options.ts';
import type { AddCommand, JsonOption, WorkFolders } from './output.ts';
import { playExperiment } from './play.ts';

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

export const addScoreboard: AddCommand = (program, folders) =>
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
    .action((options: ScoreboardOptions) => scoreboard(folders, options));

function scoreboard(
  folders: WorkFolders,
  { json, rungs, faults, times, database }: ScoreboardOptions,
): Promise<void> {
  const command = [
    'npx lockstep scoreboard',
    ...(rungs ? [`--rungs ${rungs.join(',')}`] : []),
    ...(faults ? [`--faults ${faults.join(',')}`] : []),
    ...(times > 1 ? [`--times ${times}`] : []),
  ].join(' ');
  return playExperiment(folders, {
    ...{ name: 'scoreboard', experiment: scoreboardExperiment(), command },
    options: { rungs: rungs ?? scoredRungs, faults: faults ?? faultNames, times, partMs },
    ...{ times: 1, database, json },
    report: scoreboardReport,
  });
}

function scoreboardReport(
  cells: readonly Cell[],
  { command, time, machine }: About<readonly Cell[]>,
): OwnReport {
  const record = { runs: [{ command, time }], machine, cells };
  const data = { ...record, cells: cells.map(judgedCell) };
  return {
    files: {
      'report.md': scoreboardMarkdown(record),
      'scoreboard.json': data,
    },
    cells: scoredCells(cells),
    data: (folder) => ({ ...data, folder }),
    text: (folder) => scoreboardText(record, folder),
  };
}
