/** A drill: load, faults and an audit, with one verdict. */
import type { Experiment } from '../stage/experiment.ts';

export interface DrillOptions {
  /** Decides the faults, their order, and that of the users. */
  readonly seed: number;
  /** How long the load lasts, in a drill that has a length. */
  readonly minutes: number;
}

export type Drill = Experiment<DrillOptions>;
