/**
 * The scoreboard for an 80-column terminal, a block for each group of faults, and as Markdown; in a
 * report with a sentence for each cell.
 */
import type { Language } from '../../texts/texts.ts';
import { awayInChinese } from '../drills/lock-outages.ts';
import { agreement, type Cell } from '../scoreboard/cell.ts';
import {
  faultNames,
  faultText,
  type OutageFault,
  outageFaults,
  safetyFaults,
  scoredRungs,
} from '../scoreboard/columns.ts';
import { type Bilingual, type Table, textIn } from '../stage/result.ts';
import { type Column, tableOf } from '../stage/table.ts';
import { colons, fileLine, reportLine } from './file-words.ts';
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
import { markdownTable, tableText } from './table.ts';
import { wrap } from './wrap.ts';

export function scoreboardText(
  { runs, cells }: Scoreboard,
  folder: string,
  language: Language = 'en',
): string {
  const rows = scoreRows(cells);
  const end = language === 'zh' ? '。' : '.';
  return [
    ...(rows.some(({ safety }) => safety.some(isPlayed)) ? safetyPart(rows, language) : []),
    ...(rows.some(({ outages }) => outages.some(isPlayed)) ? outagePart(rows, language) : []),
    ...surprises(cells, language),
    [
      wrap(countsText(cells, language) + end),
      ...runs.map(({ command }) => fileLine('repeat', command, language)),
      reportLine(folder, language),
    ].join('\n'),
  ].join('\n\n');
}

const isPlayed = (cell: Cell | null): boolean => cell !== null;

const titles = {
  safety: {
    en: 'Played as races: is the sale right?',
    zh: '按竞态一步步走：结果对不对？',
  },
  outages: {
    en: 'Under a steady load: does it sell on?',
    zh: '持续压测：能不能继续卖？',
  },
};

const safetyPart = (rows: readonly Row[], language: Language): string[] => [
  textIn(language, titles.safety),
  tableText(safetyTable(rows), language),
  safetyFaults.map((fault, index) => numbered(index + 1, fault, language)).join('\n'),
];

const outagePart = (rows: readonly Row[], language: Language): string[] => [
  textIn(language, titles.outages),
  tableText(
    outageTable(rows, ({ away }) => away === 'stopped', {}),
    language,
  ),
  tableText(
    outageTable(rows, ({ away }) => away !== 'stopped', outageLegend),
    language,
  ),
];

const safetyTable = (rows: readonly Row[]): Table =>
  tableOf(
    '',
    rows,
    [
      ['', ({ rung }) => rung, 22],
      ...safetyFaults.map(
        (_, at): Column<Row> => [String(at + 1), ({ safety }) => safetyMark(safety[at] ?? null), 3],
      ),
    ],
    { legend: markLegend, textColumns: safetyFaults.length + 1, isTight: true },
  );

/** Some of the columns: all of them do not fit. */
const outageTable = (
  rows: readonly Row[],
  isIn: (fault: OutageFault) => boolean,
  legend: Table['legend'] & {},
): Table =>
  tableOf(
    '',
    rows,
    [
      [{ en: 'rung', zh: '方案' }, ({ rung }) => rung],
      [{ en: 'needs', zh: '需要' }, ({ needs }) => needs, 7],
      ...outageFaults.flatMap((fault, at): Column<Row>[] =>
        isIn(fault) ? [[headOf(fault), ({ outages }) => outageMark(outages[at] ?? null), 15]] : [],
      ),
    ],
    { legend, textColumns: outageFaults.length + 2 },
  );

const headOf = ({ name, count, away }: OutageFault): Bilingual => ({
  en: name.replace('-', ' '),
  zh: `${count} 台${awayInChinese[away]}`,
});

const numbered = (number: number, fault: string, language: Language): string => {
  const says = `${fault}${colons[language]}${faultText(fault, language)}`;
  return wrap(`${String(number).padStart(2)} ${says}`, 79, '   ');
};

/** A line for each cell that is not what the ladder claims. */
function surprises(cells: readonly Cell[], language: Language): string[] {
  const under = { en: ' under ', zh: '，故障 ' }[language];
  const lines = cells
    .filter((cell) => agreement(cell) !== 'yes')
    .map((cell) =>
      wrap(`${cell.rung}${under}${cell.fault}${colons[language]}${cellSentence(cell, language)}`),
    );
  return lines.length > 0 ? [lines.join('\n')] : [];
}

export const scoreboardMarkdown = (board: Scoreboard, language: Language = 'en'): string =>
  [
    scoreboardTables(board, language),
    `### ${markdownWords[language].cells}`,
    ...faultNames.flatMap((fault) => faultDetails(fault, board.cells, language)),
  ].join('\n\n');

const markdownWords = {
  en: {
    cells: 'Cell by cell',
    isRight: 'Is the sale right?',
    sellsOn: 'Does it sell on?',
    rung: 'rung',
    needs: 'needs',
    end: '. ',
    playedBy: (commands: number) =>
      commands > 1 ? 'Each cell is from the newest run that played it:' : 'Played by:',
    columns: (names: string) => `The columns: ${names}.`,
    machine: (where: string) => `Machine: ${where}.`,
  },
  zh: {
    cells: '每一格',
    isRight: '结果对不对？',
    sellsOn: '能不能继续卖？',
    rung: '方案',
    needs: '需要',
    end: '',
    playedBy: (commands: number) =>
      commands > 1 ? '每一格取最近一次运行的结果：' : '由这个命令跑出：',
    columns: (names: string) => `各列：${names}。`,
    machine: (where: string) => `机器：${where}。`,
  },
} as const;

/** Without the ids of orders, which are others in each run. */
export function scoreboardTables(
  { runs, machine, cells }: Scoreboard,
  language: Language = 'en',
): string {
  const say = markdownWords[language];
  const rows = scoreRows(cells);
  const where = Object.entries(machine).map(([name, value]) => `${name} ${value}`);
  const safety = rows.map((row) => [`\`${row.rung}\``, ...row.safety.map(safetyMark)]);
  const outages = rows.map((row) => [
    `\`${row.rung}\``,
    row.needs[language],
    ...row.outages.map(outageMark),
  ]);
  const faults = safetyFaults.map((fault, index) => `${index + 1} \`${fault}\``);
  return [
    countsText(cells, language) + say.end + say.playedBy(runs.length),
    runs.map(({ command, time }) => `- \`${command}\` (${time})`).join('\n'),
    `### ${say.isRight}`,
    legendList(markLegend, language),
    wrap(say.columns(faults.join(', ')), 120, ''),
    markdownTable([[say.rung, ...safetyFaults.map((_, index) => String(index + 1))], ...safety]),
    `### ${say.sellsOn}`,
    legendList(outageLegend, language),
    markdownTable([
      [say.rung, say.needs, ...outageFaults.map((fault) => headOf(fault)[language])],
      ...outages,
    ]),
    say.machine(where.join('; ')),
  ].join('\n\n');
}

const legendList = (legend: Readonly<Record<string, Bilingual>>, language: Language): string =>
  Object.entries(legend)
    .map(([mark, means]) => `- \`${mark}\`${colons[language]}${means[language]}`)
    .join('\n');

/** Folded, because there are hundreds. Rungs of which the same was seen share a line. */
function faultDetails(fault: string, cells: readonly Cell[], language: Language): string[] {
  const played = scoredRungs.flatMap((rung) =>
    cells.filter((cell) => cell.fault === fault && cell.rung === rung),
  );
  if (played.length === 0) return [];
  const lines = [...Map.groupBy(played, (cell) => cellSentence(cell, language))].map(
    ([sentence, same]) => {
      const rungs = same.map(({ rung }) => `\`${rung}\``).join(', ');
      return `- ${rungs}${colons[language]}${sentence}`;
    },
  );
  const summary = `<summary><code>${fault}</code>${colons[language]}${faultText(fault, language)}</summary>`;
  return [`<details>${summary}\n\n${lines.join('\n')}\n\n</details>`];
}
