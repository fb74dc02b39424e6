import { z } from 'zod';
import { database, json, language, times } from '../lab/commands/options.ts';
import { commandRow, commandText } from '../lab/commands/row.ts';
import type { About, OwnReport } from '../lab/report/experiment-report.ts';
import { scoredCells } from '../lab/report/scoreboard-grid.ts';
import { scoreboardMarkdown, scoreboardText } from '../lab/report/scoreboard-text.ts';
import { type Cell, judgedCell } from '../lab/scoreboard/cell.ts';
import { faultNames, scoredRungs } from '../lab/scoreboard/columns.ts';
import { scoreboardExperiment } from '../lab/scoreboard/play-all.ts';
import type { Language } from '../texts/texts.ts';
import { command } from './command.ts';
import { playExperiment } from './play.ts';

const partMs = 3_000;

/** `redlock,multilock` */
const someOf = (known: readonly string[]) =>
  z
    .string()
    .transform((text) => text.split(','))
    .superRefine((names, { addIssue }) => {
      const unknown = names.find((name) => !known.includes(name));
      if (unknown === undefined) return;
      addIssue(`There is no "${unknown}". There are: ${known.join(', ')}.`);
    })
    .optional();

const scoreboardRow = commandRow({
  name: 'scoreboard',
  about: {
    en: 'every lock against every fault of a lock: what held, what broke, how long it was away',
    zh: '每种锁对上每种锁故障：哪些守住了，哪些破了，多久不可用',
  },
  arguments: {},
  options: {
    rungs: {
      schema: someOf(scoredRungs),
      value: '<names>',
      en: 'only these rungs, with commas between them',
      zh: '只跑这些方案，用逗号隔开',
    },
    faults: {
      schema: someOf(faultNames),
      value: '<names>',
      en: 'only these faults, with commas between them',
      zh: '只跑这些故障，用逗号隔开',
    },
    times: {
      ...times(100),
      en: 'number of plays of each cell',
      zh: '每一格跑几次',
    },
    database,
    language,
    json,
  },
});

export const addScoreboard = command(scoreboardRow, (folders, given) => {
  const { rungs = scoredRungs, faults = faultNames, times, language } = given;
  const once = { ...given, times: 1 }; // Each cell is played several times.
  return playExperiment(folders, once, {
    name: 'scoreboard',
    experiment: scoreboardExperiment(),
    options: { rungs, faults, times, partMs },
    command: commandText(scoreboardRow, given),
    report: (cells, about) => scoreboardReport(cells, about, language),
  });
});

function scoreboardReport(
  cells: readonly Cell[],
  { command, time, machine }: About<readonly Cell[]>,
  language: Language,
): OwnReport {
  const record = { runs: [{ command, time }], machine, cells };
  const data = { ...record, cells: cells.map(judgedCell) };
  return {
    files: {
      'report.md': scoreboardMarkdown(record, language),
      'scoreboard.json': data,
    },
    cells: scoredCells(cells),
    data: (folder) => ({ ...data, folder }),
    text: (folder) => scoreboardText(record, folder, language),
  };
}
