/** The result of an experiment for a terminal of 80 columns. */
import type { Language } from '../../ladder/texts/texts.ts';
import type { Result, Table, TableCell } from '../stage/result.ts';
import { figureRows } from './figure-rows.ts';
import { plainTable } from './tables.ts';
import { verdictWords } from './verdict-words.ts';
import { wrap } from './wrap.ts';

const mostReasons = 10;

type Shown = Pick<
  Result,
  'verdict' | 'reasons' | 'asClaimed' | 'figures' | 'tables' | 'faults' | 'hints'
>;

export function resultText(result: Shown, language: Language = 'en'): string {
  const say = verdictWords[language];
  const { verdict, reasons, asClaimed = [], figures, tables = [], faults, hints = [] } = result;
  const rows = figureRows(figures, language).map(([name, value]) => `  ${name}: ${value}`);
  const injected = Object.entries(faults).map(([name, times]) => `${times} × ${name}`);
  return [
    ...tables.filter(({ isWide }) => !isWide).flatMap((table) => [tableText(table), '']),
    ...rows,
    wrap(`  ${say.faults(injected)}`, 79, '    '),
    '',
    ...asClaimed.map((text) => wrap(`  ${say.claimed(text)}`, 79, '    ')),
    say.verdictIs(verdict) + (verdict === 'held' && asClaimed.length > 0 ? say.claimedOnly : ''),
    ...reasons.slice(0, mostReasons).map((reason) => wrap(`  ${reason}`, 79, '    ')),
    ...(reasons.length > mostReasons ? [`  and ${reasons.length - mostReasons} more`] : []),
    ...(hints.length > 0 ? ['', ...hints] : []),
  ].join('\n');
}

const tableText = ({ title, head, rows }: Table): string =>
  `${title}\n${plainTable([...head], rows.map(shortCells), 2)}`;

const shortCells = (row: readonly TableCell[]): string[] =>
  row.map((cell) => (typeof cell === 'string' ? cell : cell.short));
