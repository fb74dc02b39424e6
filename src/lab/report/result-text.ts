/** The result of an experiment for a terminal of 80 columns. */
import type { Language } from '../../texts/texts.ts';
import { meaningIn, type Result, type Table, type TableCell } from '../stage/result.ts';
import type { LoadCost } from '../stage/seconds.ts';
import type { Block } from '../stage/table.ts';
import { costSentences } from './cost-words.ts';
import { figureRows } from './figure-rows.ts';
import { plainTable } from './tables.ts';
import { padded, verdictWords } from './verdict-words.ts';
import { columns, wrap } from './wrap.ts';

const reasonsMax = 10;

type Shown = Pick<
  Result,
  'verdict' | 'reasons' | 'asClaimed' | 'figures' | 'tables' | 'faults' | 'hints' | 'conclusions'
>;

/** @param loads what each cost its buyers */
export function resultText(
  result: Shown,
  language: Language = 'en',
  loads: readonly LoadCost[] = [],
): string {
  const say = verdictWords[language];
  const { verdict, reasons, asClaimed = [], figures, tables = [], faults, hints = [] } = result;
  const { conclusions = [] } = result;
  const rows = figureRows(figures, language).map(([name, value]) => `  ${name}: ${value}`);
  const injected = Object.entries(faults).map(([name, times]) => `${times} × ${name}`);
  return [
    ...tables.filter(({ isWide }) => !isWide).flatMap((table) => [tableText(table, language), '']),
    ...rows,
    wrap(`  ${say.faults(injected)}`, 79, '    '),
    '',
    ...[...costSentences(loads, language), ...conclusions.map((said) => said[language])].map(
      (text) => wrap(`  ${text}`, 79, '    '),
    ),
    ...asClaimed.map((text) => wrap(`  ${say.claimed(text)}`, 79, '    ')),
    say.verdictIs(verdict) + (verdict === 'held' && asClaimed.length > 0 ? say.claimedOnly : ''),
    ...reasons.slice(0, reasonsMax).map((reason) => wrap(`  ${reason}`, 79, '    ')),
    ...(reasons.length > reasonsMax ? [`  and ${reasons.length - reasonsMax} more`] : []),
    ...(hints.length > 0 ? ['', ...hints] : []),
  ].join('\n');
}

/** The parts of a report, with empty lines between them. */
export const blocksText = (blocks: readonly Block[]): string =>
  blocks.map((block) => (typeof block === 'string' ? block : tableText(block))).join('\n\n');

/** Below it, what its columns say. */
export function tableText(table: Table, language: Language = 'en'): string {
  const { title, head, rows, legend = {}, textColumns = 2 } = table;
  const meanings = Object.entries(legend);
  const width = Math.max(0, ...meanings.map(([name]) => columns(name))) + 2;
  return [
    ...(title === '' ? [] : [title]),
    plainTable([...head], rows.map(shortCells), textColumns),
    ...meanings.map(([name, means]) =>
      wrap(padded(name, width) + meaningIn(language, means), 79, ' '.repeat(width)),
    ),
  ].join('\n');
}

const shortCells = (row: readonly TableCell[]): string[] =>
  row.map((cell) => (typeof cell === 'string' ? cell : cell.short));
