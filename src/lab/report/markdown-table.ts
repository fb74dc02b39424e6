/** A table in Markdown, for the documents. */
export function markdownTable([head = [], ...rows]: readonly (readonly (
  | string
  | number
)[])[]): string {
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}
