/** The result of an experiment for a terminal of 80 columns. */
import type { Language } from '../../texts/texts.ts';
import type { Result, Table, TableCell } from '../stage/result.ts';
import type { LoadCost } from '../stage/seconds.ts';
import { costSentences } from './cost-words.ts';
import { figureRows } from './figure-rows.ts';
import { plainTable } from './tables.ts';
import { verdictWords } from './verdict-words.ts';
import { wrap } from './wrap.ts';

const mostReasons = 10;

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
    ...reasons.slice(0, mostReasons).map((reason) => wrap(`  ${reason}`, 79, '    ')),
    ...(reasons.length > mostReasons ? [`  and ${reasons.length - mostReasons} more`] : []),
    ...(hints.length > 0 ? ['', ...hints] : []),
  ].join('\n');
}

/** Below it, what its columns say. */
function tableText({ title, head, rows, legend = {} }: Table, language: Language): string {
  const meanings = Object.entries(legend);
  const width = Math.max(0, ...meanings.map(([name]) => name.length)) + 2;
  return [
    `${title}\n${plainTable([...head], rows.map(shortCells), 2)}`,
    ...meanings.map(([name, means]) =>
      wrap(`${name.padEnd(width)}${means[language]}`, 79, ' '.repeat(width)),
    ),
  ].join('\n');
}

const shortCells = (row: readonly TableCell[]): string[] =>
  row.map((cell) => (typeof cell === 'string' ? cell : cell.short));
