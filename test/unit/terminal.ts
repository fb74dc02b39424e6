/** The columns of a terminal: a Chinese character, and its punctuation, take two. */
const widthOf = (line: string): number =>
  [...line].length + [...line.matchAll(/\p{Script=Han}|[\u3000-\u303f\uff00-\uff60]/gu)].length;

/** The lines that a terminal of 80 columns would break. */
export const tooWide = (text: string): string[] =>
  text.split('\n').filter((line) => widthOf(line) > 80);

/** Of a command line whose only quotes are around whole words. */
export const shellWords = (line: string): string[] =>
  (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ''));
