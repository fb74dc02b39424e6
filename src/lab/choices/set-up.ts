/** What a play of choices begins with, by the rung. */
import type { Rung } from '../../ladder/rung.ts';
import { type RungName, rungNamed, rungNames } from '../../ladder/rungs.ts';
import type { CheckpointName } from '../../trace/checkpoints.ts';

/**
 * The checkpoints that teach: a lane stands after it has the lock, and after it has looked. It
 * passes the others. A lock that is released before the commit needs that one too.
 */
export function stopsOf({ lock, lockInside }: Rung): readonly CheckpointName[] {
  const stops: readonly CheckpointName[] = ['after-acquire', 'after-check', 'before-commit'];
  return stops.slice(lock ? 0 : 1, lockInside ? 3 : 2);
}

/** One user twice; where a user may buy again, two users want the last one. */
export const userOf = (rung: RungName, lane: number): string =>
  rungNamed(rung).onePerUser ? '7' : String(7 + lane);
export const stockOf = (rung: RungName): number => (rungNamed(rung).onePerUser ? 5 : 1);

/** Of chapters 5 and 6 these read before they write; the purchase of the others is one step. */
const laterRungs: readonly RungName[] = ['redis-commands', 'unit-rows'];

export const rungsWithOrders: readonly RungName[] = rungNames.filter(
  (name) => rungNamed(name).chapter <= 4 || laterRungs.includes(name),
);
