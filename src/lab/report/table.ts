/** The two renderings of a table: for a terminal of 80 columns, and Markdown. */
import type { Language } from '../../texts/texts.ts';
import { type Table, type Text, textIn } from '../stage/result.ts';
import { type Block, isTable, meaningsOf, rowTexts } from '../stage/table.ts';
import { colons } from './file-words.ts';
import { atRight, columns, padded, wrap } from './wrap.ts';

/** The parts of a report, with empty lines between them. */
export const blocksText = (blocks: readonly Block[], language: Language = 'en'): string =>
  blocks
    .map((block) => (isTable(block) ? tableText(block, language) : paragraphText(block, language)))
    .join('\n\n');

const paragraphText = (text: Text, language: Language): string =>
  textIn(language, text)
    .split('\n')
    .map((line) => wrap(line, 80, ''))
    .join('\n');

/** Below it, what its columns say. */
export function tableText(table: Table, language: Language = 'en'): string {
  const title = textIn(language, table.title);
  return [...(title === '' ? [] : [title]), ...tableLines(table, language)].join('\n');
}

function tableLines(table: Table, language: Language): string[] {
  const { head, rows, widths = [] } = table;
  const lines = rowTexts(language, [head, ...rows], 'short');
  const fitting = head.map((_, at) =>
    Math.max(widths[at] ?? 0, ...lines.map((cells) => columns(cells[at] ?? ''))),
  );
  return [
    ...lines.map((cells) => lineOf(cells, fitting, table)),
    ...legendLines(meaningsOf(table, language)),
  ];
}

type Layout = Pick<Table, 'textColumns' | 'endsInText' | 'isTight'>;

/** A row whose cells have these widths: text at the left of its column, numbers at the right. */
export function lineOf(
  cells: readonly string[],
  widths: readonly number[],
  { textColumns = 2, endsInText, isTight }: Layout,
): string {
  const isText = (at: number) => at < textColumns || (endsInText && at === cells.length - 1);
  const inColumns = cells.map((cell, at) => {
    const gap = at === 0 || isTight ? '' : isText(at) && !isText(at - 1) ? '  ' : ' ';
    return gap + (isText(at) ? padded : atRight)(cell, widths[at] ?? 0);
  });
  return inColumns.join('').trimEnd();
}

/** Names, and what they mean, in two columns. */
export function legendLines(
  meanings: readonly (readonly [name: string, means: string])[],
): string[] {
  const width = Math.max(0, ...meanings.map(([name]) => columns(name))) + 2;
  return meanings.map(([name, means]) => wrap(padded(name, width) + means, 79, ' '.repeat(width)));
}

/** Below it, a list of what its columns say. */
export function tableMarkdown(table: Table, language: Language = 'en'): string {
  const rows = rowTexts(language, [table.head, ...table.rows]);
  const colon = colons[language];
  const meanings = meaningsOf(table, language).map(
    ([name, means]) => `- \`${name}\`${colon}${means}`,
  );
  const parts = [textIn(language, table.title) + colon.trimEnd(), markdownTable(rows)];
  return [...parts, ...(meanings.length > 0 ? [meanings.join('\n')] : [])].join('\n\n');
}

/** Escapes what would end a cell: a bar, or a line break. */
const escaped = (cell: string | number): string =>
  String(cell)
    .replaceAll('|', '\\|')
    .replaceAll(/\s*\n\s*/g, ' ');

/** A table in Markdown, for the documents. */
export function markdownTable([head = [], ...rows]: readonly (readonly (
  | string
  | number
)[])[]): string {
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map(escaped).join(' | ')} |`)
    .join('\n');
}
