/** The content of a report: the runs and races of one command, with the time and the machine. */

import type { Run } from '../drills/run-rung.ts';
import type { OrdersOfRung } from '../play/all-orders.ts';
import type { PlayedRace } from '../play/race-verdict.ts';

export interface RunRecord {
  readonly command: string;
  readonly runs: readonly Run[];
  /** The runs that compare serial sales with concurrent ones. */
  readonly serial?: readonly Run[];
  /** How many orders of two buyers break each rung. */
  readonly orders?: readonly OrdersOfRung[];
  readonly races?: readonly PlayedRace[];
  /** How many runs and races the command plays in all; as many as are here, without it. */
  readonly planned?: number;
}

/** The record, where and when it was made. */
export interface Report extends Required<RunRecord> {
  readonly time: string;
  /** More results follow: the page loads itself again. */
  readonly isRunning: boolean;
  readonly machine: Readonly<Record<string, string>>;
}
