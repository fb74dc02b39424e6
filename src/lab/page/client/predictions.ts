/** What the viewer predicted and saw on each rung. It is kept in his browser alone. */
import { signal } from '@preact/signals';
import { type PlayView, soldIn } from './model.ts';

/** How many of the buyers get an order: `two` is two or more. */
export const outcomes = ['one', 'two', 'none'] as const;
export type Outcome = (typeof outcomes)[number];

export interface Known {
  readonly predicted?: Outcome;
  readonly seen?: Outcome;
  /** The audit found a promise broken. */
  readonly isBroken?: boolean;
}

const storeName = 'lockstep-predictions';

function stored(): ReadonlyMap<string, Known> {
  try {
    return new Map(JSON.parse(localStorage.getItem(storeName) ?? '[]') as [string, Known][]);
  } catch {
    return new Map(); // A file from the disk may not have a store.
  }
}

/** By the rung. */
export const known = signal<ReadonlyMap<string, Known>>(stored());
/** Those of this visit: a rung is predicted once before it is played. */
export const predictions = signal<ReadonlyMap<string, Outcome>>(new Map());

export function predict(rung: string, outcome: Outcome): void {
  predictions.value = new Map(predictions.value).set(rung, outcome);
  remember(rung, { predicted: outcome });
}

export function rememberSeen(rung: string, seen: Outcome, isBroken: boolean): void {
  const before = known.peek().get(rung);
  if (before?.isBroken && !isBroken) return; // What was broken once is not forgotten.
  if (before?.seen !== seen || before.isBroken !== isBroken) remember(rung, { seen, isBroken });
}

function remember(rung: string, more: Known): void {
  known.value = new Map(known.peek()).set(rung, { ...known.peek().get(rung), ...more });
  try {
    localStorage.setItem(storeName, JSON.stringify([...known.peek()]));
  } catch {
    // Then it is known until the page is closed.
  }
}

export function outcomeSeen(play: PlayView): Outcome {
  const sold = soldIn(play);
  return sold === 0 ? 'none' : sold === 1 ? 'one' : 'two';
}
