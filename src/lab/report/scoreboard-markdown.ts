/** The scoreboard as Markdown: tables, legends; in a report also a sentence for each cell. */
import type { Cell } from '../scoreboard/cell.ts';
import { faultText, outageFaults, safetyFaults, scoredRungs } from '../scoreboard/columns.ts';
import {
  cellSentence,
  countsText,
  markLegend,
  outageLegend,
  outageMark,
  type Scoreboard,
  safetyMark,
  scoreRows,
} from './scoreboard-grid.ts';
import { markdownTable } from './table.ts';

export const scoreboardMarkdown = (board: Scoreboard): string =>
  [
    scoreboardTables(board),
    '### Cell by cell',
    ...[...safetyFaults, ...outageFaults.map(({ name }) => name)].flatMap((fault) =>
      faultDetails(fault, board.cells),
    ),
  ].join('\n\n');

/** Without the ids of orders, which are others in each run. */
export function scoreboardTables({ runs, machine, cells }: Scoreboard): string {
  const rows = scoreRows(cells);
  const where = Object.entries(machine).map(([name, value]) => `${name} ${value}`);
  const safety = rows.map((row) => [`\`${row.rung}\``, ...row.safety.map(safetyMark)]);
  const outages = rows.map((row) => [`\`${row.rung}\``, row.needs, ...row.outages.map(outageMark)]);
  const faults = safetyFaults.map(
    (fault, index) => `${index + 1}. \`${fault}\`: ${faultText(fault)}`,
  );
  return [
    `${countsText(cells)}. ${runs.length > 1 ? 'Each cell is from the newest run that played it:' : 'Played by:'}`,
    runs.map(({ command, time }) => `- \`${command}\` (${time})`).join('\n'),
    '### Is the sale right?',
    legend(markLegend),
    faults.join('\n'),
    markdownTable([['rung', ...safetyFaults.map((_, index) => String(index + 1))], ...safety]),
    '### Does it sell on?',
    legend(outageLegend),
    markdownTable([
      ['rung', 'needs', ...outageFaults.map(({ name }) => name.replace('-', ' '))],
      ...outages,
    ]),
    `Machine: ${where.join('; ')}.`,
  ].join('\n\n');
}

const legend = (lines: readonly (readonly [string, string])[]): string =>
  lines.map(([mark, meaning]) => `- \`${mark}\`: ${meaning}`).join('\n');

/** Folded, because there are hundreds. Rungs of which the same was seen share a line. */
function faultDetails(fault: string, cells: readonly Cell[]): string[] {
  const played = scoredRungs.flatMap((rung) =>
    cells.filter((cell) => cell.fault === fault && cell.rung === rung),
  );
  if (played.length === 0) return [];
  const lines = [...Map.groupBy(played, cellSentence)].map(([sentence, same]) => {
    const rungs = same.map(({ rung }) => `\`${rung}\``).join(', ');
    return `- ${rungs}: ${sentence}`;
  });
  const summary = `<summary><code>${fault}</code>: ${faultText(fault)}</summary>`;
  return [`<details>${summary}\n\n${lines.join('\n')}\n\n</details>`];
}
