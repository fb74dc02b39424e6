/**
 * `runs/<time>-<name>/`: `index.html`, a page with the races, the same as Markdown and JSON, the
 * facts and the history. `runs/latest` points at the newest.
 */
import { auditInEnglish } from '../../service/audit/audit.ts';
import type { Language } from '../../texts/texts.ts';
import type { Run } from '../drills/run-rung.ts';
import type { Database } from '../environment/servers/database.ts';
import type { RaceResult } from '../play/race-verdict.ts';
import { ordersLine } from './demo-lines.ts';
import { factsFiles, newFolder, timeStamp, withoutFacts, writeFiles } from './folder.ts';
import { describeMachine } from './machine.ts';
import { raceText } from './race-text.ts';
import { racesPage } from './replay-files.ts';
import { type Report, type RunRecord, racesFile, reportPage, reportWords } from './report-page.ts';
import { demoTables, raceTable } from './run-tables.ts';
import { auditLines, claimSentence, proofLines, topology } from './sentences.ts';
import { blocksText, tableText } from './table.ts';

export interface RunFolder {
  readonly path: string;
  /** The pages, with the results so far. */
  update(record: RunRecord): void;
  /** All files. No more results follow. */
  finish(record: RunRecord): void;
}

export async function openRunFolder(
  root: string,
  name: string,
  database: Database,
  language: Language = 'en',
): Promise<RunFolder> {
  const machine = await describeMachine(database);
  const time = timeStamp();
  const path = newFolder(root, name);
  const write = (report: Report) => writeFiles(path, pagesOf(report, language));
  return {
    path,
    update: (record) => write(completed(record, { time, machine, isRunning: true })),
    finish: (record) => {
      const report = completed(record, { time, machine, isRunning: false });
      write(report);
      writeFiles(path, dataFiles(report, language));
    },
  };
}

const pagesOf = (report: Report, language: Language): Record<string, string> => ({
  'index.html': reportPage(report, language),
  ...(report.races.length > 0 && { [racesFile]: racesPage(report.races, language) }),
});

/** The files of one run, by name. */
export function runFiles(
  record: RunRecord,
  about: Pick<Report, 'time' | 'machine'>,
  language: Language,
): Record<string, unknown> {
  const report = completed(record, { ...about, isRunning: false });
  return { 'index.html': reportPage(report, language), ...dataFiles(report, language) };
}

function completed(
  record: RunRecord,
  about: Pick<Report, 'time' | 'machine' | 'isRunning'>,
): Report {
  const { runs, serial = [], orders = [], races = [] } = record;
  const planned = runs.length + serial.length + orders.length + races.length;
  return { serial, orders, races, planned, ...record, ...about };
}

const runData = ({ audit, ...run }: Run) => ({
  ...withoutFacts(run),
  audit: { ...audit, ...auditInEnglish(audit) },
});

function dataFiles(report: Report, language: Language): Record<string, unknown> {
  const { command, time, machine, planned, runs, serial, orders, races } = report;
  return {
    'report.md': markdownReport(report, language),
    'tables.txt': tablesOf(report, language),
    'report.json': {
      command,
      time,
      machine,
      planned,
      runs: runs.map(runData),
      serial: serial.map(runData),
      orders,
      races: races.map(withoutFacts),
    },
    ...factsFiles([...runs, ...serial, ...races]),
  };
}

const resultOf = ({ result }: Run) => result;

const tablesOf = ({ runs, serial }: Report, language: Language): string =>
  blocksText(demoTables(runs.map(resultOf), serial.map(resultOf)), language);

function markdownReport(report: Report, language: Language): string {
  const say = reportWords[language];
  const { command, time, machine, runs, orders, races } = report;
  const list = Object.entries(machine).map(([name, value]) => `- ${name}: ${value}`);
  return [
    `# Lockstep, ${time}`,
    `\`${command}\``,
    fenced(tablesOf(report, language)),
    ...runs.map((run) => runChapter(run, language)),
    ...(orders.length > 0
      ? [`## ${say.orders}`, fenced(orders.map((each) => ordersLine(each, language)).join('\n'))]
      : []),
    ...raceChapters(races, language),
    `## ${say.machine}`,
    list.join('\n'),
  ].join('\n\n');
}

const fenced = (text: string): string => `\`\`\`text\n${text}\n\`\`\``;

function runChapter(run: Run, language: Language): string {
  const evidence = [auditLines(run.audit, language), ...proofLines(run, language)].join('\n');
  return `## ${topology(run, language)}\n\n${claimSentence(run, language)}\n\n${fenced(evidence)}`;
}

const raceChapters = (races: readonly RaceResult[], language: Language): string[] =>
  races.length === 0
    ? []
    : [
        `## ${reportWords[language].races}`,
        fenced(tableText(raceTable(races), language)),
        ...races.map((race) => fenced(raceText(race, language))),
      ];
