/** The contract of every drill: load, faults and an audit, with one verdict. */
import type { Facts } from '../../audit/facts.ts';
import type { Verdict } from '../../domain.ts';
import type { Lab, Progress } from '../environment/lab.ts';
import type { Hop } from './hops.ts';
import type { Survival } from './survival.ts';
import type { Recorder } from './timeline.ts';

export interface DrillOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly signal: AbortSignal;
  readonly progress: Progress;
  /** For the live lines and the report: `inject` and `buyRecorded` need it. */
  readonly recorder: Recorder;
}

/** What clients saw in one part of a drill. */
export interface Phase {
  readonly rung: string;
  /** For people: `before`, `2 of 3 stopped`. */
  readonly phase: string;
  readonly accepted: number;
  readonly refusedBecause: Readonly<Record<string, number>>;
  readonly unknown: number;
  readonly p99Ms: number;
  /** The longest time between two sales, from the calm before the fault to the calm after it. */
  readonly withoutSalesMs?: number;
  /** From the end of the fault to the first sale after it; null when there was none. */
  readonly resumedAfterMs?: number | null;
}

export interface DrillResult {
  readonly verdict: Verdict;
  /** One sentence for each reason of a verdict that is not `held`. */
  readonly reasons: readonly string[];
  /** One sentence for each violation that the ladder claims, and that showed as it should. */
  readonly asClaimed?: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
  /** How often each fault was injected, by its name: `kill redis-main`. */
  readonly faults: Readonly<Record<string, number>>;
  readonly phases?: readonly Phase[];
  /** What became of the accepted orders, after a kill at each hop. */
  readonly hops?: readonly Hop[];
  /** What became of the accepted orders, for each durability and each loss of Redis. */
  readonly survived?: readonly Survival[];
  /** Of the vouchers whose audit did not hold, so that the reasons can be checked. */
  readonly facts: readonly Facts[];
}

export interface Drill {
  /** One sentence for `lockstep drill --list`. */
  readonly about: string;
  readonly run: (lab: Lab, options: DrillOptions) => Promise<DrillResult>;
}
