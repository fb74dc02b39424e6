/** The result of an experiment as Markdown. */
import type { Result, Table } from '../stage/result.ts';
import { figureRows, fullCells } from './figure-rows.ts';
import { markdownTable } from './markdown-table.ts';

type Shown = Pick<Result, 'verdict' | 'reasons' | 'asClaimed' | 'figures' | 'tables'>;

export function resultMarkdown(command: string, result: Shown): string {
  const { verdict, reasons, asClaimed = [], figures, tables = [] } = result;
  return [
    ...tables.map(tableMarkdown),
    markdownTable([['figure', 'value'], ...figureRows(figures)]),
    ...[...asClaimed.map((text) => `as claimed: ${text}`), ...reasons].map((text) => `- ${text}`),
    measuredBy(command, verdict),
  ].join('\n\n');
}

export const tableMarkdown = ({ title, head, rows }: Table): string =>
  `${title}:\n\n${markdownTable([head, ...rows.map(fullCells)])}`;

export const measuredBy = (command: string, verdict: string): string =>
  `Measured by \`${command}\`: ${verdict}.`;
