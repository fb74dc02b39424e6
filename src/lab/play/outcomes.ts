/** What a play can come to, as it is predicted and as it is seen. */
import type { Reading } from '../stage/events.ts';
import { laneNames } from './letters.ts';

export type LaneName = (typeof laneNames)[number];
/** How many of the buyers get an order, `two` is two or more; or which buyer alone gets one. */
export type OutcomeSeen = 'one' | 'two' | 'none';
export type Outcome = OutcomeSeen | LaneName;

/** @param isWhole the choices that will be played bring every buyer to an end: then who gets it */
export const outcomesFor = (lanes: number, isWhole: boolean): readonly Outcome[] => [
  ...(isWhole ? laneNames.slice(0, lanes) : (['one'] as const)),
  ...(['two', 'none'] as const),
];

export const isLaneName = (outcome: string): outcome is LaneName =>
  (laneNames as readonly string[]).includes(outcome);

export const isOutcome = (text: string): text is Outcome =>
  ['one', 'two', 'none'].includes(text) || isLaneName(text);

/** The number of orders that are in the readings. */
export const ordersIn = (readings: readonly Reading[]): number =>
  readings
    .filter(({ id }) => id === 'orders')
    .reduce((sum, { value }) => sum + value.split(' ').filter(Boolean).length, 0);

export function outcomeIn(readings: readonly Reading[]): OutcomeSeen {
  const orders = ordersIn(readings);
  return orders === 0 ? 'none' : orders === 1 ? 'one' : 'two';
}
