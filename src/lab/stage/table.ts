/** A table is made of its rows and of columns, and stays data until somebody shows it. */
import type { Language } from '../../texts/texts.ts';
import { type Table, type TableCell, type Text, textIn } from './result.ts';

/** Its name in the head, its cell in each row, and its least width. */
export type Column<Row> = readonly [
  name: Text,
  cell: (row: Row) => TableCell | number,
  width?: number,
];

/** A part of a report: a paragraph, or a table. */
export type Block = Text | Table;

export const isTable = (block: Block): block is Table =>
  typeof block !== 'string' && 'rows' in block;

export const tableOf = <Row>(
  title: Text,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  layout: Pick<Table, 'legend' | 'textColumns' | 'endsInText' | 'isTight'> = {},
): Table => ({
  title,
  textColumns: 1,
  ...layout,
  ...(columns.some(([, , width]) => width) && { widths: columns.map(([, , width = 0]) => width) }),
  ...inColumns(rows, columns),
});

/** For a table whose layout stands beside its columns. */
export const inColumns = <Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): Pick<Table, 'head' | 'rows'> => ({
  head: columns.map(([name]) => name),
  rows: rows.map((row) => columns.map(([, cell]) => asCell(cell(row)))),
});

const asCell = (cell: TableCell | number): TableCell =>
  typeof cell === 'number' ? String(cell) : cell;

/** @param form what is shown where a cell has two */
export const cellText = (
  language: Language,
  cell: TableCell,
  form: 'short' | 'full' = 'full',
): string => (typeof cell === 'object' && 'full' in cell ? cell[form] : textIn(language, cell));

export const rowTexts = (
  language: Language,
  rows: Table['rows'],
  form?: 'short' | 'full',
): string[][] => rows.map((row) => row.map((cell) => cellText(language, cell, form)));

/** Names and what they mean. A name that is one of a column or of a cell is that. */
export function meaningsOf(
  { head, rows, legend = {} }: Pick<Table, 'head' | 'rows' | 'legend'>,
  language: Language,
): [name: string, means: string][] {
  const words = new Map(
    [...head, ...rows.flat()].map((word) => [cellText('en', word), cellText(language, word)]),
  );
  return Object.entries(legend).map(([name, means]) => [
    words.get(name) ?? name,
    textIn(language, means),
  ]);
}
