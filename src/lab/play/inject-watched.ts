/** Injects the faults of one step, and sees from outside whether each of them hit. */
import { isInTime } from '../environment/wait-until.ts';
import type { Fault, HasHit, Undo, WatchedFault } from '../faults/fault.ts';
import type { Stage } from '../stage/stage.ts';

export interface Injected {
  /** Mends all of them. */
  readonly undo: Undo;
  /** False when one of them had no effect: then the race proves nothing. */
  readonly hasHit: boolean;
}

export async function injectWatched(
  faults: readonly WatchedFault[],
  stage: Stage,
): Promise<Injected> {
  const undos: Undo[] = [];
  let hasHit = true;
  for (const fault of faults) {
    const seen = await fault.watch(stage.lab);
    undos.push(await stage.inject(fault));
    hasHit &&= await isSeen(fault, seen, stage);
  }
  const undo = async () => {
    for (const each of undos.reverse()) await each();
  };
  return { undo, hasHit };
}

/** A killed process is there for a moment longer. */
const seenWithinMs = 2_000;

const isSeen = ({ name }: Fault, hasHit: HasHit, stage: Stage): Promise<boolean> =>
  isInTime(stage.until(`the effect of: ${name}`, seenWithinMs, hasHit));
