/** What the viewer predicted and saw on each rung. It is kept in his browser alone. */
import { signal } from '@preact/signals';
import { isLaneName, type Outcome, type OutcomeSeen, outcomeIn } from '../../lab/play/outcomes.ts';
import { tellPrediction } from './api.ts';
import type { Row } from './lane-rows.ts';
import type { PlayView } from './model.ts';

export interface Known {
  readonly predicted?: Outcome;
  readonly seen?: OutcomeSeen;
  /** The audit found a promise broken. */
  readonly isBroken?: boolean;
  /** What was seen is what was predicted. */
  readonly isRight?: boolean;
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
  void tellPrediction(rung, outcome);
}

export function rememberSeen(
  rung: string,
  more: Required<Pick<Known, 'seen' | 'isBroken'>> & Pick<Known, 'isRight'>,
): void {
  const { seen, isBroken, isRight } = more;
  const before = known.peek().get(rung);
  if (before?.isBroken && !isBroken) return; // What was broken once is not forgotten.
  const isKnown =
    before?.seen === seen && before.isBroken === isBroken && before.isRight === isRight;
  if (!isKnown) remember(rung, more);
}

function remember(rung: string, more: Known): void {
  known.value = new Map(known.peek()).set(rung, { ...known.peek().get(rung), ...more });
  try {
    localStorage.setItem(storeName, JSON.stringify([...known.peek()]));
  } catch {
    // Then it is known until the page is closed.
  }
}

export const outcomeSeen = ({ readings }: PlayView): OutcomeSeen => outcomeIn(readings);

/** The buyer that was told the number of the only order. */
function buyerSeen({ readings, rows }: PlayView): string | undefined {
  const orders = readings.filter(({ id, value }) => id === 'orders' && value !== '');
  const isTold = ({ word, orderId }: Row) =>
    ['sold', 'accepted'].includes(word) && orderId === orders[0]?.value;
  return rows.find(isTold)?.lane;
}

export function wasRight(play: PlayView, predicted: Outcome): boolean {
  const seen = outcomeSeen(play);
  return isLaneName(predicted)
    ? seen === 'one' && buyerSeen(play) === predicted
    : seen === predicted;
}
