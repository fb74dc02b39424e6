/** The contract of every fault: it breaks something in the lab, and knows how to mend it. */
import type { Lab } from '../environment/lab.ts';

/** Mends what the fault broke, and resolves once the lab is whole again. */
export type Undo = () => Promise<void>;

/** True when the fault that should have happened since then has happened. */
export type HasHit = () => Promise<boolean> | boolean;

export interface Fault {
  /** For people: `kill process 4711`. */
  readonly name: string;
  inject(lab: Lab): Promise<Undo>;
}

/**
 * A fault whose effect is seen from outside, and not by its own word: a race that a fault did not
 * hit proves nothing. `watch` comes before `inject`.
 */
export interface WatchedFault extends Fault {
  watch(lab: Lab): Promise<HasHit> | HasHit;
}
