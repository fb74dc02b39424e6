/** Sums, how often something is there, and how a count is shown. */

export const sum = (numbers: readonly number[]): number =>
  numbers.reduce((all, each) => all + each, 0);

/** How often each name is there. */
export function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** `1,234` */
export const grouped = (count: number): string => count.toLocaleString('en-US');
