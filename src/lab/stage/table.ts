/** A table is made of its rows and of columns, and stays data until somebody shows it. */
import type { Table, TableCell } from './result.ts';

/** Its name in the head, and its cell in each row. */
export type Column<Row> = readonly [name: string, cell: (row: Row) => TableCell | number];

/** A part of a report: a paragraph, or a table. */
export type Block = string | Table;

export const tableOf = <Row>(
  title: string,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  layout: Pick<Table, 'legend' | 'textColumns'> = {},
): Table => ({
  ...{ title, textColumns: 1, ...layout },
  head: columns.map(([name]) => name),
  rows: rows.map((row) => columns.map(([, cell]) => textOf(cell(row)))),
});

const textOf = (cell: TableCell | number): TableCell =>
  typeof cell === 'number' ? String(cell) : cell;
