/** The contract of every exercise: a rung without some of its defences, for a learner to mend. */
import type { RungName } from '../../service/ladder/rungs.ts';
import type { Change } from '../mutants/change.ts';

export interface Exercise {
  readonly rung: RungName;
  /** How the sources of the project become those that the learner starts from. */
  readonly changes: readonly Change[];
  /** Commands of lockstep. Each must be as the ladder claims. */
  readonly plays: readonly string[];
  readonly contract: Contract;
}

/** A part of the contract suite. */
export interface Contract {
  readonly file: 'locks' | 'queues' | 'inventories';
  readonly rung: RungName;
}
