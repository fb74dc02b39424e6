/** The ladder in teaching order: every rung as its row says, and again in every circumstance that breaks it. */
import { type Circumstance, ladder, type Rung, type RungName, rungNames } from '../ladder.ts';
import type { RunRequest } from './run-rung.ts';

export const defaults = {
  users: 100,
  stock: 20,
  seed: 1,
  workMs: 50,
  retries: 0,
  balancer: 'nginx',
} as const;

export function walk(seed: number): RunRequest[] {
  return rungNames.flatMap((rung) => {
    const { instances, breaks }: Rung = ladder[rung];
    const asTheRowSays = { ...defaults, seed, rung, instances };
    return [asTheRowSays, ...breaks.flatMap(({ under }) => circumstances(rung, seed, under))];
  });
}

/** The headline twice: nginx shares the requests out, and then Node's own cluster does. */
function circumstances(rung: RungName, seed: number, under: Circumstance): RunRequest[] {
  if (under !== 'several-instances') return [];
  return (['nginx', 'cluster'] as const).map((balancer) => ({
    ...defaults,
    seed,
    rung,
    instances: 4,
    balancer,
  }));
}
