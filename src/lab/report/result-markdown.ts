/** The result of an experiment as Markdown. */
import { meaningIn, type Result, type Table } from '../stage/result.ts';
import type { LoadCost } from '../stage/seconds.ts';
import { costSentences } from './cost-words.ts';
import { figureRows, fullCells } from './figure-rows.ts';
import { markdownTable } from './markdown-table.ts';

type Shown = Pick<
  Result,
  'verdict' | 'reasons' | 'asClaimed' | 'figures' | 'tables' | 'conclusions'
>;

/** @param loads what each cost its buyers */
export function resultMarkdown(
  command: string,
  result: Shown,
  loads: readonly LoadCost[] = [],
): string {
  const { verdict, reasons, asClaimed = [], conclusions = [], figures, tables = [] } = result;
  return [
    ...[...costSentences(loads), ...conclusions.map(({ en }) => en)].map((text) => `- ${text}`),
    ...tables.map(tableMarkdown),
    markdownTable([['figure', 'value'], ...figureRows(figures)]),
    ...[...asClaimed.map((text) => `as claimed: ${text}`), ...reasons].map((text) => `- ${text}`),
    measuredBy(command, verdict),
  ].join('\n\n');
}

export const tableMarkdown = ({ title, head, rows, legend = {} }: Table): string =>
  [
    `${title}:`,
    markdownTable([head, ...rows.map(fullCells)]),
    ...Object.entries(legend).map(([name, means]) => `- \`${name}\`: ${meaningIn('en', means)}`),
  ].join('\n\n');

export const measuredBy = (command: string, verdict: string): string =>
  `Measured by \`${command}\`: ${verdict}.`;
