/**
 * The cost of serial sales: pairs of rungs that are both right, of which one makes all buyers wait
 * in one line.
 */
import { ladder, type RungName } from '../../service/ladder/rungs.ts';
import { defaults } from './demo-plan.ts';
import type { RunRequest } from './run-rung.ts';

export const serialPairs: readonly { readonly serial: RungName; readonly beside: RungName }[] = [
  { serial: 'row-lock', beside: 'stock-positive' },
  { serial: 'mutex-per-method', beside: 'mutex-per-user' },
];

/** Different users, one request each, and stock for all: no request is refused. */
const load = { ...defaults, users: 40, stock: 40, requestsPerEagerUser: 1, workMs: 50, pauses: [] };

/** The concurrent one comes first. */
export const serialRuns = (seed: number): RunRequest[] =>
  serialPairs
    .flatMap(({ serial, beside }) => [beside, serial])
    .map((rung) => ({ ...load, seed, rung, instances: ladder[rung].instances }));
