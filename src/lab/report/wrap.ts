/**
 * Lines of at most `width` characters, cut between words; the second and later ones are indented.
 */
export function wrap(text: string, width = 79, indent = '  '): string {
  const margin = /^ */.exec(text)?.[0] ?? '';
  const lines: string[] = [];
  let line = '';
  for (const word of text.trimStart().split(' ')) {
    const room = width - (lines.length === 0 ? margin.length : 0);
    if (line !== '' && columns(`${line} ${word}`) > room) {
      lines.push(line);
      line = indent + word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return margin + [...lines, line].join('\n');
}

/** Each line by itself. */
export const wrapLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => wrap(line))
    .join('\n');

/** Chinese characters take two columns of a terminal. */
export const columns = (text: string): number =>
  [...text].reduce(
    (sum, character) => sum + (/[\u2e80-\u9fff\uff00-\uffef]/.test(character) ? 2 : 1),
    0,
  );
