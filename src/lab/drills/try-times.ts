/**
 * Which requests of a load were sales, and when they were sent and answered. The moments are
 * nanoseconds of the clock of the tries. Pure, but for `now`.
 */
import type { Attempt } from '../../service/audit/facts.ts';

export const isSale = ({ outcome }: Pick<Attempt, 'outcome'>): boolean => outcome === 'accepted';

/** By the clock of the tries. */
export const now = (): bigint => process.hrtime.bigint();

type SentRequest = Pick<Attempt, 'sentAt'>;

export const sentAt = ({ sentAt = '0' }: SentRequest): bigint => BigInt(sentAt);
export const answeredAt = ({ answeredAt = '0' }: Pick<Attempt, 'answeredAt'>): bigint =>
  BigInt(answeredAt);

/** From `from` on, and before `to`. */
export const sentBetween = <T extends SentRequest>(
  tries: readonly T[],
  from: bigint,
  to: bigint,
): T[] => tries.filter((each) => sentAt(each) >= from && sentAt(each) < to);

/** Of each purchase, by its request id: when it was sent, and not repeated. */
export function firstSent(tries: readonly Attempt[]): ReadonlyMap<string, bigint> {
  const first = new Map<string, bigint>();
  for (const each of tries) {
    const known = first.get(each.requestId);
    if (known === undefined || sentAt(each) < known) first.set(each.requestId, sentAt(each));
  }
  return first;
}

/** A purchase that was sent at this moment or later was accepted. */
export const salesSince = <T extends Attempt>(tries: readonly T[], since: bigint): T[] =>
  tries.filter((each) => isSale(each) && sentAt(each) >= since);

export const hasSaleSince = (tries: readonly Attempt[], since: bigint): boolean =>
  salesSince(tries, since).length > 0;

export const inOrder = (moments: readonly bigint[]): bigint[] =>
  moments.toSorted((one, other) => (one < other ? -1 : 1));

/** Whole milliseconds. */
export const msBetween = (from: bigint, to: bigint): number =>
  Math.round(Number(to - from) / 1_000_000);

/** The longest time without any of these moments, which lie between `from` and `to`. */
export function longestGapBetweenMs(moments: readonly bigint[], from: bigint, to: bigint): number {
  const all = [from, ...inOrder(moments), to];
  return Math.max(...all.slice(1).map((at, index) => msBetween(all[index] ?? at, at)));
}
