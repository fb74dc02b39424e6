/** The contract of every fault: it breaks something in the lab, and knows how to mend it. */
import type { Lab } from '../environment/lab.ts';

/** Mends what the fault broke, and resolves once the lab is whole again. */
export type Undo = () => Promise<void>;

export interface Fault {
  /** For people: `kill process 4711`. */
  readonly name: string;
  inject(lab: Lab): Promise<Undo>;
}
