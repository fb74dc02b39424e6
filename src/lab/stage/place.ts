/** Where a lane of a play is, and where a step of a race has left it. */
import type { Attempt } from '../../service/audit/facts.ts';
import { refusalReasons } from '../../service/domain.ts';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import type { StepPlace } from '../../texts/en.ts';

/** The reason of an attempt whose answer was lost on its way to the buyer. */
export const answerLost = 'answer-lost';

/** For a lock; without one for the database, which is for a row there. */
export type Wait = 'lock' | 'row';

export type Place =
  | { readonly is: 'idle' }
  | {
      readonly is: 'at';
      readonly checkpoint: CheckpointName;
      readonly instance: string;
      /** That the order worker has in hand. */
      readonly orderId?: string | undefined;
    }
  /** Its process stands still. */
  | { readonly is: 'paused' }
  | {
      readonly is: 'waits';
      readonly on: Wait;
      /** The owner of the lock; the lane that has changed the row, where only one can have. */
      readonly for?: string;
      readonly isForDead?: boolean;
    }
  | { readonly is: 'dead' }
  /** The order worker, without an order in hand. */
  | { readonly is: 'free' }
  /** The order worker, until somebody starts it. */
  | { readonly is: 'stopped' }
  | {
      readonly is: 'answered';
      readonly attempt: Pick<Attempt, 'outcome' | 'reason' | 'orderId' | 'instance'>;
    };

/** Where a lane is after a step, or what has become of the step. */
export type ReachedPlace =
  | Exclude<Place, { readonly is: 'idle' | 'free' | 'stopped' }>
  /** A step that moves no lane was done. */
  | { readonly is: 'done'; readonly as: StepEffect }
  /** A step did not do what it should. */
  | { readonly is: 'missed'; readonly because: Miss };

export type StepEffect =
  | 'injected'
  | 'healed'
  | 'resumed'
  /** The time of a lease has passed: the key is gone, is still there, or is none of Redis. */
  | 'lease-over'
  | 'still-locked'
  | 'time-passes'
  /** The lock has no lease: nothing ends with time. */
  | 'no-lease'
  /** The lock has no such server. */
  | 'nothing-to-hit';

export type Miss =
  /** A fault found no request, no process. */
  | 'not-there'
  /** The lane was neither seen at a place nor seen to wait. */
  | 'slow'
  /** A fault was injected, and nothing of it was seen. */
  | 'no-effect'
  /** A fault was to make a server forget the lock, and the server did not have it. */
  | 'no-lock-there'
  /** A fault was to keep the database from recording the order, and the order is there. */
  | 'recorded-anyway'
  /** A server that should be back within the lease was away for longer. */
  | 'outlasts-the-lease';

export const isSameWait = (place: Place, before: Place | undefined): boolean =>
  place.is === 'waits' &&
  before?.is === 'waits' &&
  place.for === before.for &&
  place.isForDead === before.isForDead;

/** One whose answer was lost asks again. */
export const canMove = (place: Place): boolean =>
  ['idle', 'at'].includes(place.is) ||
  (place.is === 'answered' && place.attempt.reason === answerLost);

/** Of a play in which every lane is at one, nothing can be chosen any more. */
export const isEnd = (place: Place): boolean =>
  ['answered', 'dead', 'free'].includes(place.is) && !canMove(place);

export const hasBought = (place: ReachedPlace): boolean =>
  place.is === 'answered' && place.attempt.outcome === 'accepted';

/** Why the request was refused, or got no answer. */
export const reasonAt = (place: ReachedPlace): string | undefined =>
  place.is === 'answered' ? place.attempt.reason : undefined;

export const isMissed = (place: ReachedPlace, ...reasons: readonly Miss[]): boolean =>
  place.is === 'missed' && reasons.includes(place.because);

export function instanceAt(place: ReachedPlace): string | undefined {
  if (place.is === 'at') return place.instance;
  return place.is === 'answered' ? place.attempt.instance : undefined;
}

/** The name by which `steps` of the ladder's texts has a sentence for it. */
export function nameOfPlace(place: ReachedPlace): StepPlace | 'injected' | 'healed' {
  if (place.is === 'at') return place.checkpoint;
  if (place.is === 'waits') return place.on === 'lock' ? 'waits-for-lock' : 'waits-for-store';
  if (place.is === 'dead') return 'killed';
  if (place.is === 'paused') return 'paused';
  if (place.is === 'done') return place.as;
  return place.is === 'missed' ? place.because : nameOfAnswer(place.attempt);
}

function nameOfAnswer({ outcome, reason }: Pick<Attempt, 'outcome' | 'reason'>): StepPlace {
  if (outcome === 'accepted') return 'sold';
  if (reason === answerLost) return answerLost;
  return refusalReasons.find((each) => each === reason) ?? 'no-answer';
}
