/** Where the lanes are, and what a choice did. */
import type { Attempt } from '../../service/audit/facts.ts';
import { answerLost } from '../stage/events.ts';
import type { WireCommand } from './wire.ts';

/** Where a lane is after a choice. */
export type LanePosition =
  | { readonly is: 'idle' }
  | {
      readonly is: 'at';
      readonly checkpoint: string;
      readonly instance: string;
      /** That the order worker has in hand. */
      readonly orderId?: string | undefined;
    }
  /** Its process stands still. */
  | { readonly is: 'paused' }
  | {
      readonly is: 'waits';
      readonly on: 'lock' | 'row';
      /** The owner of the lock; the lane that has changed the row, where only one can have. */
      readonly for?: string;
      readonly isForDead?: boolean;
    }
  | { readonly is: 'dead' }
  /** The order worker, without an order in hand. */
  | { readonly is: 'free' }
  /** The order worker, until somebody starts it. */
  | { readonly is: 'stopped' }
  | { readonly is: 'answered'; readonly attempt: Attempt };

export interface Choice {
  /** As it was written: `A`, `XA`. */
  readonly choice: string;
  readonly lane: string;
  /** False: the lane could not go. */
  readonly taken: boolean;
  /** Of every lane, afterwards. */
  readonly places: ReadonlyMap<string, LanePosition>;
  /** What it sent to Redis and MySQL, where that was asked for. */
  readonly commands?: readonly WireCommand[];
}

export const isSameWait = (place: LanePosition, before: LanePosition | undefined): boolean =>
  place.is === 'waits' &&
  before?.is === 'waits' &&
  place.for === before.for &&
  place.isForDead === before.isForDead;

/** One whose answer was lost asks again. */
export const canMove = (place: LanePosition): boolean =>
  ['idle', 'at'].includes(place.is) ||
  (place.is === 'answered' && place.attempt.reason === answerLost);

/** Of a play in which every lane is at one, nothing can be chosen any more. */
export const isEnd = (place: LanePosition): boolean =>
  ['answered', 'dead', 'free'].includes(place.is) && !canMove(place);
