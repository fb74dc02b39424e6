/** The result of an experiment for a terminal of 80 columns. */
import type { Result, Table, TableCell } from '../stage/result.ts';
import { figureRows } from './figure-rows.ts';
import { plainTable } from './tables.ts';
import { wrap } from './wrap.ts';

const mostReasons = 10;
const claimedOnly = '; what broke is what the ladder claims';

type Shown = Pick<
  Result,
  'verdict' | 'reasons' | 'asClaimed' | 'figures' | 'tables' | 'faults' | 'hints'
>;

export function resultText(result: Shown): string {
  const { verdict, reasons, asClaimed = [], figures, tables = [], faults, hints = [] } = result;
  const rows = figureRows(figures).map(([name, value]) => `  ${name}: ${value}`);
  const injected = Object.entries(faults).map(([name, times]) => `${times} × ${name}`);
  return [
    ...tables.filter(({ isWide }) => !isWide).flatMap((table) => [tableText(table), '']),
    ...rows,
    wrap(`  faults: ${injected.join(', ') || 'none'}`, 79, '    '),
    '',
    ...asClaimed.map((text) => wrap(`  as claimed: ${text}`, 79, '    ')),
    `verdict: ${verdict}${verdict === 'held' && asClaimed.length > 0 ? claimedOnly : ''}`,
    ...reasons.slice(0, mostReasons).map((reason) => wrap(`  ${reason}`, 79, '    ')),
    ...(reasons.length > mostReasons ? [`  and ${reasons.length - mostReasons} more`] : []),
    ...(hints.length > 0 ? ['', ...hints] : []),
  ].join('\n');
}

const tableText = ({ title, head, rows }: Table): string =>
  `${title}\n${plainTable([...head], rows.map(shortCells), 2)}`;

const shortCells = (row: readonly TableCell[]): string[] =>
  row.map((cell) => (typeof cell === 'string' ? cell : cell.short));
