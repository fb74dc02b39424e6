/**
 * A sale goes on: a free lock can be acquired, and stock that is left can be bought. A refusal as
 * busy while no other order uses the lock is a violation. A run in which nobody bought although
 * stock was left proves nothing.
 */
import type { HistoryEvent } from '../../trace/history.ts';
import type { Case, Check, Undecided } from '../check.ts';
import { confirmed, type Facts } from '../facts.ts';
import { sectionsOf } from '../sections.ts';
import { incomplete } from './mutual-exclusion.ts';

/** A free lock must be noticed within this time; a polling lock needs some milliseconds. */
const noticeMs = 500;

export const progress: Check = {
  name: 'progress',
  skip: ({ attempts, history }) =>
    attempts || history ? null : 'neither answers nor history were kept',
  cases(facts) {
    const cases = facts.locked ? deniedBesideFreeLock(facts) : [];
    if (cases.length > 0) return cases;
    const missing = facts.locked && facts.history ? incomplete(facts) : null;
    return missing ?? nobodyBought(facts) ?? [];
  },
  evidence: ['requested', 'granted', 'releasing', 'denied', 'died'],
};

function nobodyBought(facts: Facts): Undecided | null {
  const { attempts = [], initialStock, redis } = facts;
  const isSold = confirmed(facts).length > 0 || (redis?.queued.length ?? 0) > 0;
  if (isSold || attempts.length === 0 || initialStock === 0) return null;
  const reason = attempts.find(({ outcome }) => outcome !== 'accepted')?.reason ?? 'no reason';
  return { undecided: `nobody bought although stock was left; the first answer was: ${reason}` };
}

function deniedBesideFreeLock({ history = [] }: Facts): Case[] {
  const sections = sectionsOf(history, 'released');
  return history
    .filter(({ event }) => event === 'denied')
    .filter((denied) => freeForMs(denied, history, sections) >= noticeMs)
    .map((denied) => ({
      evidence: `user ${denied.userId} was refused as busy although no other purchase was using the lock`,
      severity: 1,
      orders: [...blamed(denied, history, sections), denied.orderId],
    }));
}

type Sections = ReturnType<typeof sectionsOf>;

const ofOthers = (denied: HistoryEvent, sections: Sections): Sections =>
  sections.filter(
    ({ resource, orderId }) => resource === denied.resource && orderId !== denied.orderId,
  );

/**
 * How long the lock had been free of other orders when the request was denied, within its wait; in
 * milliseconds.
 */
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

/**
 * The order that held the lock last before the denial, and the last order whose process died with
 * it.
 */
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
