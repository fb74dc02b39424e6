/**
 * Lines of at most `width` columns, cut between words; the second and later ones are indented.
 * Chinese is cut between characters, and no line begins with its punctuation.
 */
export function wrap(text: string, width = 79, indent = '  '): string {
  const margin = /^ */.exec(text)?.[0] ?? '';
  const lines: string[] = [];
  let line = '';
  for (const [piece] of text.trimStart().matchAll(pieces)) {
    const room = width - (lines.length === 0 ? margin.length : 0);
    if (line !== '' && columns(line + piece) > room) {
      lines.push(line);
      line = indent + piece.trimStart();
    } else line += piece;
  }
  return margin + [...lines, line].join('\n');
}

const chinese = '\\u2e80-\\u9fff\\uff00-\\uffef';
/** A word, or a Chinese character, with the space before it and the punctuation at it. */
const pieces = new RegExp(
  ` *(?:[（《「“]*[${chinese}][，。、；：！？）》」”]*|[^ ${chinese}]+)`,
  'g',
);

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

/** Padded to this number of terminal columns. */
export const padded = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - columns(text)));

export const atRight = (text: string, width: number): string =>
  ' '.repeat(Math.max(0, width - columns(text))) + text;
