/**
 * `runs/<time>-<name>/`: `index.html` with a page for each race, the same as Markdown and JSON, the
 * facts and the history. `runs/latest` points at the newest.
 */
import type { Database } from '../environment/servers/database.ts';
import { factsFiles, withoutFacts } from './facts-files.ts';
import { timeStamp, writeFolder } from './folder.ts';
import { describeMachine } from './machine.ts';
import { markdownReport } from './markdown-report.ts';
import { racePage } from './race-page.ts';
import type { Report, RunRecord } from './report.ts';
import { racePageName, reportPage } from './report-page.ts';
import { tablesText } from './tables.ts';

/** @returns the folder's path. */
export async function writeRunFolder(
  root: string,
  name: string,
  record: RunRecord,
  database: Database,
): Promise<string> {
  const machine = await describeMachine(database);
  const report: Report = { serial: [], races: [], ...record, time: timeStamp(), machine };
  const { command, time, runs, serial, races } = report;
  const pages = races.map((race) => [racePageName(race), racePage(race)] as const);
  return writeFolder(root, name, {
    'index.html': reportPage(report),
    ...Object.fromEntries(pages),
    'report.md': markdownReport(report),
    'tables.txt': tablesText(
      runs.map(({ result }) => result),
      serial.map(({ result }) => result),
    ),
    'report.json': {
      ...{ command, time, machine },
      runs: runs.map(withoutFacts),
      serial: serial.map(withoutFacts),
      races: races.map(withoutFacts),
    },
    ...factsFiles([...runs, ...serial, ...races]),
  });
}
