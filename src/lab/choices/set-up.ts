/** What a play of choices begins with, by the rung. */
import type { Rung } from '../../ladder/rung.ts';
import { type RungName, rungNamed, rungNames } from '../../ladder/rungs.ts';
import type { CheckpointName } from '../../trace/checkpoints.ts';

/** Of chapters 5 and 6 these read before they write: their steps are played without the worker. */
const laterRungs: readonly RungName[] = ['redis-commands', 'unit-rows'];

/** Where requests at once may break a promise. The purchase of the others is one step. */
export const rungsWithOrders: readonly RungName[] = rungNames.filter(
  (name) => rungNamed(name).chapter <= 4 || laterRungs.includes(name),
);

/** The process that consumes the queue is a lane, too. */
export const hasWorker = (rung: RungName): boolean =>
  rungNamed(rung).queue !== undefined && !laterRungs.includes(rung);

/**
 * The checkpoints that teach: a lane stands after it has the lock, and after it has looked. It
 * passes the others. A lock that is released before the commit needs that one too. With a queue: an
 * order is claimed, in hand, and recorded.
 */
export function stopsOf(rung: RungName): readonly CheckpointName[] {
  if (hasWorker(rung)) return ['claimed', 'delivered', 'recorded'];
  const { lock, lockInside }: Rung = rungNamed(rung);
  const stops: readonly CheckpointName[] = ['after-acquire', 'after-check', 'before-commit'];
  return stops.slice(lock ? 0 : 1, lockInside ? 3 : 2);
}

/** What the buyers want: one user several times; several users the last one, and behind a queue. */
export type SaleKind = 'one-user' | 'last-one' | 'last-one-queued';

export function saleOf(rung: RungName): SaleKind {
  if (hasWorker(rung)) return 'last-one-queued';
  return rungNamed(rung).onePerUser ? 'one-user' : 'last-one';
}

export const userOf = (rung: RungName, lane: number): string =>
  saleOf(rung) === 'one-user' ? '7' : String(7 + lane);
export const stockOf = (rung: RungName): number => (saleOf(rung) === 'one-user' ? 5 : 1);
