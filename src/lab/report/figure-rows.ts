/** The figures and the tables of a result, for a reader who has room. The page has them, too. */
import type { Result, TableCell } from '../stage/result.ts';

/** With all of each cell. */
export const fullCells = (row: readonly TableCell[]): string[] =>
  row.map((cell) => (typeof cell === 'string' ? cell : cell.full));

/** Names and values for people. */
export const figureRows = (figures: Result['figures']): [name: string, value: string][] =>
  Object.entries(figures).map(([name, value]) => [words(name), count(value)]);

/** `longestGapMs` is shown as `longest gap ms`. */
const words = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

const count = (value: number): string => Math.round(value).toLocaleString('en-US');
