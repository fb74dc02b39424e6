/** Injects the faults of one step, and sees from outside whether each of them hit. */
import { DeadlinePassed } from '../../errors.ts';
import type { Lab } from '../environment/lab.ts';
import { waitUntil } from '../environment/wait-until.ts';
import type { Fault, HasHit, Undo, WatchedFault } from '../faults/fault.ts';

export interface Injected {
  /** Mends all of them. */
  readonly undo: Undo;
  /** False when one of them had no effect: then the race proves nothing. */
  readonly hasHit: boolean;
}

/** @param inject the one way to inject a fault: a drill records it */
export async function injectWatched(
  faults: readonly WatchedFault[],
  lab: Lab,
  inject: (fault: Fault) => Promise<Undo>,
): Promise<Injected> {
  const undos: Undo[] = [];
  let hasHit = true;
  for (const fault of faults) {
    const seen = await fault.watch(lab);
    undos.push(await inject(fault));
    hasHit &&= await isSeen(fault, seen);
  }
  const undo = async () => {
    for (const each of undos.reverse()) await each();
  };
  return { undo, hasHit };
}

/** A killed process is there for a moment longer. */
const seenWithinMs = 2_000;

async function isSeen({ name }: Fault, hasHit: HasHit): Promise<boolean> {
  try {
    await waitUntil(`the effect of: ${name}`, seenWithinMs, hasHit);
    return true;
  } catch (error) {
    if (error instanceof DeadlinePassed) return false;
    throw error;
  }
}
