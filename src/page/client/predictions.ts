/** What the viewer predicted and saw. It is kept in his browser alone. */

import { signal } from '@preact/signals';
import { isLaneName, type Outcome, type OutcomeSeen, outcomeIn } from '../../lab/play/outcomes.ts';
import type { Verdict } from '../../service/domain.ts';
import { tellPrediction } from './api.ts';
import { keep, kept } from './kept.ts';
import type { PlayView, Row } from './play-model.ts';

export const predictedVerdicts = ['held', 'violated'] as const satisfies readonly Verdict[];
/** The outcome of a play, or the verdict of a run. */
export type Prediction = Outcome | (typeof predictedVerdicts)[number];

export interface KnownOutcome {
  readonly predicted?: Prediction;
  readonly seen?: OutcomeSeen;
  /** The audit found a promise broken. */
  readonly isBroken?: boolean;
  /** What was seen is what was predicted. */
  readonly isRight?: boolean;
  /** The last one of a run. */
  readonly verdict?: Verdict;
}

/** A store that another page has written into may hold anything. */
function stored(): ReadonlyMap<string, KnownOutcome> {
  try {
    return new Map(JSON.parse(kept('predictions') ?? '[]') as [string, KnownOutcome][]);
  } catch {
    return new Map();
  }
}

/** By the rung of a play, or the name of a run. */
export const known = signal<ReadonlyMap<string, KnownOutcome>>(stored());
/** Those of this visit, by the same names: each is predicted once before it is played. */
export const predictions = signal<ReadonlyMap<string, Prediction>>(new Map());

export function predict(name: string, predicted: Prediction): void {
  predictions.value = new Map(predictions.value).set(name, predicted);
  remember(name, { predicted });
  void tellPrediction(name, predicted);
}

/** `1`, `2`, `3` */
export function predictByKey(key: string, name: string, all: readonly Prediction[]): boolean {
  const predicted = all[Number(key) - 1];
  if (!predicted || predictions.value.has(name)) return false;
  predict(name, predicted);
  return true;
}

export function rememberOutcome(of: PlayView): void {
  const before = known.peek().get(of.rung);
  const seen = outcomeIn(of.readings);
  const isBroken = of.broken.length > 0;
  const predicted = predictions.peek().get(of.rung);
  const isRight = predicted && wasRight(of, predicted);
  if (before?.isBroken && !isBroken) return; // What was broken once is not forgotten.
  const isKnown =
    before?.seen === seen && before.isBroken === isBroken && before.isRight === isRight;
  if (!isKnown) remember(of.rung, { seen, isBroken, ...(isRight !== undefined && { isRight }) });
}

export function rememberVerdict(run: string, verdict: Verdict): void {
  if (known.peek().get(run)?.verdict !== verdict) remember(run, { verdict });
}

/** Another tab may have remembered something since this one was opened: it stays. */
function remember(name: string, more: KnownOutcome): void {
  const all = new Map([...known.peek(), ...stored()]);
  known.value = all.set(name, { ...all.get(name), ...more });
  keep('predictions', JSON.stringify([...known.peek()]));
}

/** The buyer that was told the number of the only order. */
function buyerSeen({ readings, rows }: PlayView): string | undefined {
  const orders = readings.filter(({ id, value }) => id === 'orders' && value !== '');
  const isTold = ({ word, orderId }: Row) =>
    ['sold', 'accepted'].includes(word) && orderId === orders[0]?.value;
  return rows.find(isTold)?.lane;
}

export function wasRight(play: PlayView, predicted: Prediction): boolean {
  const seen = outcomeIn(play.readings);
  return isLaneName(predicted)
    ? seen === 'one' && buyerSeen(play) === predicted
    : seen === predicted;
}
