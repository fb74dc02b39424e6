/** A race as data: its lanes, its steps, and the promise that it is about. */
import type { CheckName } from '../../service/domain.ts';
import type { Circumstance } from '../../service/ladder/rung.ts';
import type { RungName } from '../../service/ladder/rungs.ts';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import type { Bilingual } from '../stage/result.ts';
import type { PlayedByHand } from './letters.ts';
import type { LockFaultName } from './lock-faults.ts';
import type { QueueFaultName } from './queue-faults.ts';

interface Told {
  /** What the step does on the rung with the bug, in short. */
  readonly says: Bilingual;
}

/**
 * A fault in the servers of the rung's lock (`lock-faults.ts`) or behind the sale
 * (`queue-faults.ts`), or its end.
 */
interface FaultStep extends Told {
  /** The process of this lane is cut off, or blocked. */
  readonly of?: string | undefined;
}

export type Step =
  | (FaultStep & { readonly fault: LockFaultName | QueueFaultName })
  | (FaultStep & { readonly heal: LockFaultName | QueueFaultName })
  | (RunStep & Told)
  /** Waits until the lease of this lane's lock has expired, or longer than a lease lasts. */
  | (Told & { readonly expire: string })
  /** Kills the process of this lane with SIGKILL. `answered`: also after it has answered. */
  | (Told & { readonly kill: string; readonly answered?: true })
  /** Pauses the process of this lane with SIGSTOP. */
  | (Told & { readonly pause: string })
  /** Resumes it with SIGCONT. */
  | (Told & { readonly resume: string });

interface RunStep {
  readonly run: string;
  readonly until: CheckpointName | 'answer';
  /** On a rung without that place: the places that come nearest. */
  readonly orUntil?: readonly CheckpointName[];
  readonly wrong?: true;
  /** If the order is in the database by then, the fault before has not hit. */
  readonly unlessRecorded?: true;
}

export const run = (
  lane: string,
  until: RunStep['until'],
  en: string,
  zh: string,
  more: Omit<RunStep, 'run' | 'until'> = {},
): Step => ({ run: lane, until, says: { en, zh }, ...more });

/** @param of the lane whose process it hits */
export const fault = (
  name: LockFaultName | QueueFaultName,
  en: string,
  zh: string,
  of?: string,
): Step => ({ fault: name, says: { en, zh }, of });

export const heal = (
  name: LockFaultName | QueueFaultName,
  en: string,
  zh: string,
  of?: string,
): Step => ({ heal: name, says: { en, zh }, of });

export const expire = (lane: string, en: string, zh: string): Step => ({
  expire: lane,
  says: { en, zh },
});

export const kill = (
  lane: string,
  en: string,
  zh: string,
  more: { readonly answered?: true } = {},
): Step => ({ kill: lane, says: { en, zh }, ...more });

export const sigstop = (lane: string, en: string, zh: string): Step => ({
  pause: lane,
  says: { en, zh },
});

export const sigcont = (lane: string, en: string, zh: string): Step => ({
  resume: lane,
  says: { en, zh },
});

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
  readonly byHand?: PlayedByHand;
  readonly steps: readonly Step[];
}
