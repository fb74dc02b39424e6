/**
 * What the history says about critical sections, and about purchases that looked at the same state.
 */
import type { HistoryEvent } from '../trace/history.ts';
import { groupBy } from './group-by.ts';

/**
 * A critical section: from the grant of a lock to the call of its release. Without a release it
 * ends with the death of the process, with the answer to the purchase, or with the history. A
 * re-entrant section ends with its last release.
 */
export interface Section {
  readonly resource: string;
  readonly orderId: string;
  readonly userId: string;
  readonly instance: string;
  readonly from: bigint;
  readonly to: bigint;
}

const answers: readonly string[] = ['accepted', 'refused', 'unknown'];

/**
 * In the order of their beginnings. `endsAt`: a section ends with the call of the release, or with
 * the lock service's answer to it.
 */
export function sectionsOf(
  events: readonly HistoryEvent[],
  endsAt: 'releasing' | 'released' = 'releasing',
): Section[] {
  const end = BigInt(events.at(-1)?.at ?? 0) + 1n;
  const byOrder = groupBy(events, ({ orderId }) => orderId);
  const sections = [...byOrder.values()].flatMap((all) => {
    const granted = all.filter(({ event }) => event === 'granted');
    const ended = all.filter(({ event }) => event === endsAt);
    const over = all.find(({ event }) => event === 'died' || answers.includes(event));
    const last = ended.length < granted.length ? over : ended.at(-1);
    const [first] = granted;
    if (!first?.resource) return [];
    const { resource, orderId, userId, instance, at } = first;
    return [
      { resource, orderId, userId, instance, from: BigInt(at), to: last ? BigInt(last.at) : end },
    ];
  });
  return sections.sort((one, other) => (one.from < other.from ? -1 : 1));
}

/**
 * Two of these orders that both reached their check before either was answered: both saw the same
 * state.
 */
export function checkedTogether(
  events: readonly HistoryEvent[],
  orders: readonly string[],
): readonly [string, string] | undefined {
  const checking = new Set<string>();
  for (const { event, checkpoint, orderId } of events) {
    if (!orders.includes(orderId)) continue;
    const [other] = checking;
    if (checkpoint === 'after-check') {
      if (other !== undefined && other !== orderId) return [other, orderId];
      checking.add(orderId);
    } else if (event === 'accepted') checking.delete(orderId);
  }
  return undefined;
}

/** An order that took one from stock and was never accepted. */
export function tookWithoutOrder(events: readonly HistoryEvent[]): string | undefined {
  const accepted = new Set(
    events.filter(({ event }) => event === 'accepted').map(({ orderId }) => orderId),
  );
  return events.find(
    ({ checkpoint, orderId }) => checkpoint === 'stock-taken' && !accepted.has(orderId),
  )?.orderId;
}
