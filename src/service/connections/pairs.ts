/** A list as Redis answers it: field, value, field, value, … */
export type Pair = [field: string, value: string];

export const pairsOf = (words: readonly string[]): Pair[] =>
  Array.from({ length: Math.ceil(words.length / 2) }, (_, index) => [
    words[2 * index] ?? '',
    words[2 * index + 1] ?? '',
  ]);
