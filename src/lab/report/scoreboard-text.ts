/** The scoreboard for an 80-column terminal: a block for each group of faults, legends below. */
import type { Cell } from '../scoreboard/cell.ts';
import { agreement } from '../scoreboard/cell.ts';
import { faultText, type OutageFault, outageFaults, safetyFaults } from '../scoreboard/columns.ts';
import { fileLine, reportLine } from './file-words.ts';
import {
  cellSentence,
  countsText,
  markLegend,
  outageLegend,
  outageMark,
  type Row,
  type Scoreboard,
  safetyMark,
  scoreRows,
} from './scoreboard-grid.ts';
import { wrap } from './wrap.ts';

const rungWidth = 22;
const safetyWidth = 3;
const needsWidth = 8;
const outageWidth = 16;

export function scoreboardText({ runs, cells }: Scoreboard, folder: string): string {
  const rows = scoreRows(cells);
  return [
    ...(rows.some(({ safety }) => safety.some(isPlayed)) ? safetyPart(rows) : []),
    ...(rows.some(({ outages }) => outages.some(isPlayed)) ? outagePart(rows) : []),
    ...surprises(cells),
    [
      wrap(`${countsText(cells)}.`),
      ...runs.map(({ command }) => fileLine('repeat', command)),
      reportLine(folder),
    ].join('\n'),
  ].join('\n\n');
}

const isPlayed = (cell: Cell | null): boolean => cell !== null;

const safetyPart = (rows: readonly Row[]): string[] => [
  'Played as races: is the sale right?',
  safetyBlock(rows),
  legend(markLegend),
  safetyFaults.map((fault, index) => numbered(index + 1, fault)).join('\n'),
];

const outagePart = (rows: readonly Row[]): string[] => [
  'Under a steady load: does it sell on?',
  outageBlock(rows, ({ away }) => away === 'stopped'),
  outageBlock(rows, ({ away }) => away !== 'stopped'),
  legend(outageLegend),
];

const line = (cells: readonly string[]): string => cells.join('').trimEnd();

function safetyBlock(rows: readonly Row[]): string {
  const head = safetyFaults.map((_, index) => String(index + 1).padEnd(safetyWidth));
  const body = rows.map(({ rung, safety }) =>
    line([rung.padEnd(rungWidth), ...safety.map((cell) => safetyMark(cell).padEnd(safetyWidth))]),
  );
  return [line([' '.repeat(rungWidth), ...head]), ...body].join('\n');
}

/** Some of the columns: all of them do not fit. */
function outageBlock(rows: readonly Row[], isIn: (fault: OutageFault) => boolean): string {
  const names = outageFaults.filter(isIn).map(({ name }) => name.replace('-', ' '));
  const head = ['needs'.padEnd(needsWidth), ...names.map((name) => name.padEnd(outageWidth))];
  const body = rows.map(({ rung, needs, outages }) => {
    const shown = outages.filter((_, index) => isIn(outageFaults[index] as OutageFault));
    const marks = shown.map((cell) => outageMark(cell).padEnd(outageWidth));
    return line([rung.padEnd(rungWidth), needs.padEnd(needsWidth), ...marks]);
  });
  return [line(['rung'.padEnd(rungWidth), ...head]), ...body].join('\n');
}

const legend = (lines: readonly (readonly [string, string])[]): string =>
  lines.map(([mark, meaning]) => `${mark.padEnd(7)}${meaning}`).join('\n');

const numbered = (number: number, fault: string): string =>
  wrap(`${String(number).padStart(2)} ${fault}: ${faultText(fault)}`, 79, '   ');

/** A line for each cell that is not what the ladder claims. */
function surprises(cells: readonly Cell[]): string[] {
  const lines = cells
    .filter((cell) => agreement(cell) !== 'yes')
    .map((cell) => wrap(`${cell.rung} under ${cell.fault}: ${cellSentence(cell)}`));
  return lines.length > 0 ? [lines.join('\n')] : [];
}
