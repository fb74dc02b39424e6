/** A drill: load, faults and an audit, with one verdict. */
import type { Experiment } from '../stage/stage.ts';

export interface DrillOptions {
  /** Decides the faults, their order, and that of the users. */
  readonly seed: number;
  /** How long the load lasts, in a drill that has a length. */
  readonly minutes: number;
}

export interface Drill extends Experiment<DrillOptions> {
  /** About, to the half: with the usual options, on two cores, the start of the lab included. */
  readonly takesMinutes: number;
}

/**
 * Sales one after the other: for so long, and so many at least.
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
