/** A run folder's report as Markdown. */
import type { Run } from '../drills/run-rung.ts';
import type { RaceResult } from '../play/race-verdict.ts';
import { ordersLine } from './demo-lines.ts';
import { raceText } from './race-text.ts';
import type { Report } from './report.ts';
import { demoTables, raceTable } from './run-tables.ts';
import { auditLines, claimSentence, proofLines, topology } from './sentences.ts';
import { blocksText, tableText } from './table.ts';

export function markdownReport(report: Report): string {
  const { command, time, machine, runs, serial, orders, races } = report;
  const results = runs.map(({ result }) => result);
  const list = Object.entries(machine).map(([name, value]) => `- ${name}: ${value}`);
  return [
    `# Lockstep, ${time}`,
    `\`${command}\``,
    fenced(
      blocksText(
        demoTables(
          results,
          serial.map(({ result }) => result),
        ),
      ),
    ),
    ...runs.map(runChapter),
    ...(orders.length > 0
      ? ['## Orders', fenced(orders.map((each) => ordersLine(each)).join('\n'))]
      : []),
    ...raceChapters(races),
    '## Machine and versions',
    list.join('\n'),
  ].join('\n\n');
}

const fenced = (text: string): string => `\`\`\`text\n${text}\n\`\`\``;

const runChapter = (run: Run): string =>
  `## ${topology(run)}\n\n${claimSentence(run)}\n\n${fenced([auditLines(run.audit), ...proofLines(run)].join('\n'))}`;

const raceChapters = (races: readonly RaceResult[]): string[] =>
  races.length === 0
    ? []
    : [
        '## Races',
        fenced(tableText(raceTable(races))),
        ...races.map((race) => fenced(raceText(race))),
      ];
