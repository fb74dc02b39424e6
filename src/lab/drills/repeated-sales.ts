/** Sales one after the other, in a drill whose length is in minutes. */
import type { DrillOptions } from './drill.ts';

/**
 * For so long, and so many at least.
 * @param play the next one, with its number from 0, and a seed of its own
 */
export async function repeatedSales<Sale>(
  { minutes, seed }: DrillOptions,
  least: number,
  play: (number: number, seed: number) => Promise<Sale>,
): Promise<Sale[]> {
  const endMs = performance.now() + minutes * 60_000;
  const sales: Sale[] = [];
  while (sales.length < least || performance.now() < endMs)
    sales.push(await play(sales.length, seed + sales.length));
  return sales;
}
