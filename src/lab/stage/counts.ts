/** Sums, and how often something is there. */

export const sum = (numbers: readonly number[]): number =>
  numbers.reduce((all, each) => all + each, 0);

/** How often each name is there. */
export function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
