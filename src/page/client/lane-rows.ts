/** The lanes of a play or a race, and their rows: what each lane did, one after the other. */
import type { PlayedLane, StageEvent } from '../../lab/stage/events.ts';
import type { ReachedPlace } from '../../lab/stage/place.ts';
import type { Bilingual } from '../../lab/stage/result.ts';

export const msOf = ({ at }: StageEvent): number => Number(at) / 1_000_000;

/** For a lock, for one of a dead process, or for a row. */
export type Wait = 'lock' | 'dead' | 'row';

export interface LaneView extends PlayedLane {
  /** `free`, `stopped`: the order worker. `lost`: the answer, so it may ask again. */
  readonly state:
    | 'idle'
    | 'running'
    | 'at'
    | 'paused'
    | 'waits'
    | 'dead'
    | 'answered'
    | 'free'
    | 'stopped'
    | 'lost';
  readonly checkpoint?: string;
  /** The owner that it waits for, and whether for a lock or for a row. */
  readonly waitsFor?: string;
  readonly waitsOn?: Wait;
  readonly outcome?: string;
  /** Since when, in milliseconds of the play. */
  readonly since: number;
}

/** What a lane did, or why it could not go. */
export interface Row {
  readonly step: number;
  readonly lane: string;
  readonly kind: 'at' | 'waits' | 'answered' | 'dead' | 'free' | 'fault' | 'stuck';
  /**
   * A checkpoint; the reason of an answer, or `sold`; what it waits on; what a fault does; why the
   * order worker is free.
   */
  readonly word: string;
  readonly of?: string;
  readonly orderId?: string;
  readonly isWrong: boolean;
  readonly tookMs: number;
  readonly atMs: number;
  /** The events that prove it. */
  readonly evidence: readonly StageEvent[];
  /** Of a race whose steps are fixed: where its lane was then, and the words of its schedule. */
  readonly inRace?: { readonly place: ReachedPlace; readonly says?: Bilingual };
}
