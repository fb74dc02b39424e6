/** Escapes what would end a cell: a bar, or a line break. */
const cellText = (cell: string | number): string =>
  String(cell)
    .replaceAll('|', '\\|')
    .replaceAll(/\s*\n\s*/g, ' ');

/** A table in Markdown, for the documents. */
export function markdownTable([head = [], ...rows]: readonly (readonly (
  | string
  | number
)[])[]): string {
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map(cellText).join(' | ')} |`)
    .join('\n');
}
