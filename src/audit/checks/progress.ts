/** A free lock can be acquired: no request is refused as busy while no other order holds the lock. */
import type { HistoryEvent } from '../../trace/history.ts';
import type { Check } from '../check.ts';
import { sectionsOf } from '../sections.ts';
import { needsHistoryOfLock } from './mutual-exclusion.ts';

/** A free lock must be noticed within this time; a polling lock needs some milliseconds. */
const noticeMs = 500;

export const progress: Check = {
  name: 'progress',
  skip: needsHistoryOfLock,
  cases({ history = [] }) {
    const sections = sectionsOf(history, 'released');
    const denials = history.filter(({ event }) => event === 'denied');
    return denials
      .filter((denied) => freeForMs(denied, history, sections) >= noticeMs)
      .map((denied) => ({
        evidence: `user ${denied.userId} was refused as busy although no other purchase was using the lock`,
        severity: 1,
        orders: [...blamed(denied, history, sections), denied.orderId],
      }));
  },
  evidence: ['requested', 'granted', 'releasing', 'denied', 'died'],
};

type Sections = ReturnType<typeof sectionsOf>;

const ofOthers = (denied: HistoryEvent, sections: Sections): Sections =>
  sections.filter(
    ({ resource, orderId }) => resource === denied.resource && orderId !== denied.orderId,
  );

/** How long the lock had been free of other orders when the request was denied, within its wait; in milliseconds. */
function freeForMs(
  denied: HistoryEvent,
  history: readonly HistoryEvent[],
  sections: Sections,
): number {
  const deniedAt = BigInt(denied.at);
  const requested = history.findLast(
    ({ event, orderId, at }) =>
      event === 'requested' && orderId === denied.orderId && BigInt(at) <= deniedAt,
  );
  let freeSince = BigInt(requested?.at ?? denied.at);
  for (const { from, to } of ofOthers(denied, sections)) {
    if (from < deniedAt && to > deniedAt) return 0;
    if (to <= deniedAt && to > freeSince) freeSince = to;
  }
  return Number(deniedAt - freeSince) / 1_000_000;
}

/** The order that held the lock last before the denial, and the last order whose process died with it. */
function blamed(
  denied: HistoryEvent,
  history: readonly HistoryEvent[],
  sections: Sections,
): string[] {
  const deniedAt = BigInt(denied.at);
  const earlier = ofOthers(denied, sections).filter(({ to }) => to <= deniedAt);
  const owner = earlier.toSorted((one, other) => (one.to < other.to ? -1 : 1)).at(-1);
  const died = history.findLast(
    ({ event, resource, at }) =>
      event === 'died' && resource === denied.resource && BigInt(at) <= deniedAt,
  );
  return [...new Set([owner?.orderId, died?.orderId])].filter((id) => id !== undefined);
}
