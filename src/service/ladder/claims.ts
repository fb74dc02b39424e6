/** What the ladder says will happen. */
import type { Verdict } from '../domain.ts';
import { type Break, type Circumstance, circumstances, type Rung } from './rung.ts';

export interface Claim {
  readonly verdict: Verdict;
  readonly breaks: readonly Break[];
}

/** The claim for a rush: many requests at once, and no fault. */
export function claimOf({ breaks }: Rung, instances: number): Claim {
  const shown = breaks.filter(({ under }) => showsInRush(under, instances));
  return { verdict: shown.length > 0 ? 'violated' : 'held', breaks: shown };
}

/** True when a rush brings this circumstance by itself. */
export const showsInRush = (under: Circumstance, instances: number): boolean =>
  circumstances[under] === 'rush' && (under !== 'several-instances' || instances > 1);
