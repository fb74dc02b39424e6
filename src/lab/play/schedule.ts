/** A race as data: its lanes, its steps, and the promise that it is about. */
import type { CheckName } from '../../service/domain.ts';
import type { Circumstance } from '../../service/ladder/rung.ts';
import type { RungName } from '../../service/ladder/rungs.ts';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import type { Bilingual } from '../stage/result.ts';
import type { RaceChoices } from './letters.ts';
import type { LockFaultName } from './lock-faults.ts';
import type { QueueFaultName } from './queue-faults.ts';

export type FaultName = LockFaultName | QueueFaultName;

type Act =
  | {
      readonly act: 'run';
      readonly until: CheckpointName | 'answer';
      /** On a rung without that place: the places that come nearest. */
      readonly orUntil?: readonly CheckpointName[];
      /** If the order is in the database by then, the fault before has not hit. */
      readonly unlessRecorded?: true;
    }
  /** Kills the process of the lane with SIGKILL. `answered`: also after it has answered. */
  | { readonly act: 'kill'; readonly answered?: true }
  /** With SIGSTOP and SIGCONT. */
  | { readonly act: 'pause' | 'resume' }
  /** The lease of the lane's lock ends, where time can end it. */
  | { readonly act: 'end-lease' }
  /**
   * A fault in the servers of the rung's lock (`lock-faults.ts`) or behind the sale
   * (`queue-faults.ts`), or its end; or it hits the process of the lane.
   */
  | { readonly act: 'break' | 'mend'; readonly fault: FaultName };

export type Step = Act & {
  readonly lane: string;
  /** What the step does on the rung with the bug, in short. */
  readonly says: Bilingual;
  /** There it does the harm. */
  readonly wrong?: true;
};
export type StepOf<Name extends Step['act']> = Extract<Step, { readonly act: Name }>;

/** Two users want the last voucher. */
export const lastOne = { instances: 4, stock: 1, lanes: { A: '7', B: '8' } } as const;

/** Where a step of the servers is drawn. */
export const serversLane = 'S';

type More<Name extends Step['act']> = Omit<StepOf<Name>, 'act' | 'lane' | 'says' | 'until'>;

export const run = (
  lane: string,
  until: StepOf<'run'>['until'],
  en: string,
  zh: string,
  more: More<'run'> = {},
): Step => ({ act: 'run', lane, until, says: { en, zh }, ...more });

const faultStep =
  (act: 'break' | 'mend') =>
  (name: FaultName, en: string, zh: string, lane = serversLane): Step => ({
    act,
    fault: name,
    lane,
    says: { en, zh },
  });
export const fault = faultStep('break');
export const heal = faultStep('mend');

export const kill = (lane: string, en: string, zh: string, more: More<'kill'> = {}): Step => ({
  act: 'kill',
  lane,
  says: { en, zh },
  ...more,
});

const laneStep =
  (act: 'pause' | 'resume' | 'end-lease') =>
  (lane: string, en: string, zh: string): Step => ({ act, lane, says: { en, zh } });
export const expire = laneStep('end-lease');
export const sigstop = laneStep('pause');
export const sigcont = laneStep('resume');

/**
 * What a rung must have, so that a race says something about it. `stored`: no accepted order is in
 * the memory of an instance alone, where it may or may not be when the instance dies.
 * `lock-alone`: the servers have the lock and nothing else, so one may lose its data.
 */
export type Need =
  | 'lock'
  | 'waiters'
  | 'queue'
  | 'stored'
  | 'lock-service'
  | 'lock-alone'
  | 'lock-redis';

export interface Schedule {
  readonly title: Bilingual;
  /** The circumstance that it plays. */
  readonly under: Circumstance;
  /** The rung with the bug, and the next rung, which fixes it. Without `next`, every rung holds. */
  readonly rung: RungName;
  readonly next?: RungName;
  readonly instances: number;
  readonly stock: number;
  /** Lane → user. */
  readonly lanes: Readonly<Record<string, string>>;
  /** Lanes whose purchase runs while its own lock is already held. */
  readonly nested?: readonly string[];
  /** Lanes whose purchase never releases its lock. */
  readonly forgets?: readonly string[];
  readonly needs?: Need;
  /** Only these two rungs have the place that it is about. */
  readonly onlyHere?: true;
  /** Refusals that belong to this race, beside those of every sale: one at least must come. */
  readonly expects?: readonly string[];
  /** No fault hits these lanes: if one loses its lease, the machine is too slow for the race. */
  readonly undisturbed?: readonly string[];
  /** The check of the audit that must turn red. */
  readonly shows: CheckName;
  /** The same race as choices, short enough for a link. Without it, a fault of it is no choice. */
  readonly byHand?: RaceChoices;
  readonly steps: readonly Step[];
}
