/** What being serial costs: pairs of rungs that are both right, of which one makes everybody wait for everybody. */
import { ladder, type RungName } from '../ladder.ts';
import type { RunRequest } from './run-rung.ts';
import { defaults } from './walk.ts';

export const serialPairs: readonly { readonly serial: RungName; readonly beside: RungName }[] = [
  { serial: 'row-lock', beside: 'stock-positive' },
  { serial: 'mutex-per-method', beside: 'mutex-per-user' },
];

/** Different users, one request each, and enough for all: nobody is refused, nobody waits for himself. */
const load = { ...defaults, users: 40, stock: 40, insistence: 1, workMs: 50 };

/** The one beside comes first. */
export const serialRuns = (seed: number): RunRequest[] =>
  serialPairs
    .flatMap(({ serial, beside }) => [beside, serial])
    .map((rung) => ({ ...load, seed, rung, instances: ladder[rung].instances }));
