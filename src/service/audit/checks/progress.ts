/**
 * A sale goes on: a free lock can be acquired, and stock that is left can be bought. A refusal as
 * busy is a violation when the lock was free for some time, or all the time since the request; so
 * is a grant long after the release: a lost wake-up. A run in which nobody bought although stock
 * was left proves nothing.
 */

import type { HistoryEvent } from '../../trace/history.ts';
import { type Case, type Check, caseOf, type UndecidedFinding } from '../check.ts';
import { confirmed, type Facts } from '../facts.ts';
import { sectionsOf } from '../sections.ts';
import type { Evidence } from '../sentences.ts';
import { incomplete } from './mutual-exclusion.ts';

/** A free lock must be noticed within this time; a polling lock needs some milliseconds. */
const noticeMs = 500;
/** A grant this long after the release came by a timer, and not by the release. */
const wakeUpMs = 2_000;

export const progress: Check = {
  name: 'progress',
  skip: ({ attempts, history }) => (attempts || history ? null : ['neither-answers-nor-history']),
  cases(facts) {
    const cases = facts.locked ? unnoticed(facts) : [];
    if (cases.length > 0) return cases;
    const missing = facts.locked && facts.history ? incomplete(facts) : null;
    return missing ?? nobodyBought(facts) ?? [];
  },
  evidence: ['requested', 'granted', 'releasing', 'denied', 'died'],
};

function nobodyBought(facts: Facts): UndecidedFinding | null {
  const { attempts = [], initialStock, redis } = facts;
  const isSold = confirmed(facts).length > 0 || (redis?.queued.length ?? 0) > 0;
  if (isSold || attempts.length === 0 || initialStock === 0) return null;
  const reason = attempts.find(({ outcome }) => outcome !== 'accepted')?.reason ?? 'no reason';
  return { undecided: ['nobody-bought-of-stock', reason] };
}

/** Requests that did not notice in time that the lock was free. */
function unnoticed({ history = [] }: Facts): Case[] {
  const sections = sectionsOf(history, 'released');
  const ofLocks = Map.groupBy(history, ({ resource = '' }) => resource);
  return history.flatMap((answer) => {
    const mostMs = { denied: noticeMs, granted: wakeUpMs }[String(answer.event)];
    if (mostMs === undefined) return [];
    const freeMs = freeForMs(answer, history, sections);
    if (freeMs < mostMs && !wasNeverHeld(answer, ofLocks)) return [];
    const evidence: Evidence =
      answer.event === 'denied'
        ? ['busy-beside-unused-lock', answer.userId]
        : ['granted-late', answer.userId, Math.round(freeMs)];
    return [caseOf(evidence, ...blamed(answer, history, sections), answer.orderId)];
  });
}

type Sections = ReturnType<typeof sectionsOf>;

const ofOthers = (answer: HistoryEvent, sections: Sections): Sections =>
  sections.filter(
    ({ resource, orderId }) => resource === answer.resource && orderId !== answer.orderId,
  );

/**
 * How long the lock had been free of other orders when the request was answered, within its wait
 * and since it was last resumed; in milliseconds.
 */
function freeForMs(
  answer: HistoryEvent,
  history: readonly HistoryEvent[],
  sections: Sections,
): number {
  const answeredAt = BigInt(answer.at);
  const lastOf = (names: readonly string[]) =>
    history.findLast(
      ({ event, orderId, at }) =>
        names.includes(event) && orderId === answer.orderId && BigInt(at) <= answeredAt,
    );
  const requestedAt = BigInt((lastOf(['requested']) ?? answer).at);
  let freeSince = BigInt((lastOf(['requested', 'resumed']) ?? answer).at);
  let wasReleased = false;
  for (const { from, to } of ofOthers(answer, sections)) {
    if (from < answeredAt && to > answeredAt) return 0;
    if (to > answeredAt) continue;
    wasReleased ||= to > requestedAt;
    if (to > freeSince) freeSince = to;
  }
  // A slow answer is no lost wake-up: nothing was released that it could have missed.
  if (answer.event === 'granted' && !wasReleased) return 0;
  return Number(answeredAt - freeSince) / 1_000_000;
}

/** A release that was answered later may have reached the lock service later, or not at all. */
const promptReleaseNs = 250_000_000n;

/**
 * True for a denial when no other order can have held the lock since it was requested. So a lock
 * without a wait is judged too: it may refuse at once, but not beside a free lock.
 */
function wasNeverHeld(
  { event, resource, orderId, at }: HistoryEvent,
  ofLocks: ReadonlyMap<string, readonly HistoryEvent[]>,
): boolean {
  if (event !== 'denied') return false;
  const byOrder = Map.groupBy(ofLocks.get(resource ?? '') ?? [], (each) => each.orderId);
  const own = (byOrder.get(orderId) ?? []).filter((each) => BigInt(each.at) <= BigInt(at));
  const began = own.findLast((each) => each.event === 'requested');
  if (!began || own.some((each) => each.event === 'granted')) return false;
  byOrder.delete(orderId);
  return [...byOrder.values()].every((events) => isApart(events, BigInt(began.at), BigInt(at)));
}

/** Whether an order with these lock events cannot have held the lock between two times. */
function isApart(events: readonly HistoryEvent[], from: bigint, to: bigint): boolean {
  if (BigInt(events[0]?.at ?? 0) > to) return true;
  const all = (wanted: string) => events.filter(({ event }) => event === wanted);
  const grants = all('granted').length;
  if (grants === 0) return all('denied').length === all('requested').length;
  const [call, answer] = [all('releasing').at(-1), all('released').at(-1)];
  if (!call || !answer || all('released').length < grants) return false;
  const releasedAt = BigInt(answer.at);
  return releasedAt - BigInt(call.at) <= promptReleaseNs && releasedAt < from;
}

/**
 * The order that held the lock last before the answer, and the last order whose process died with
 * it.
 */
function blamed(
  answer: HistoryEvent,
  history: readonly HistoryEvent[],
  sections: Sections,
): string[] {
  const answeredAt = BigInt(answer.at);
  const earlier = ofOthers(answer, sections).filter(({ to }) => to <= answeredAt);
  const owner = earlier.toSorted((one, other) => (one.to < other.to ? -1 : 1)).at(-1);
  const died = history.findLast(
    ({ event, resource, at }) =>
      event === 'died' && resource === answer.resource && BigInt(at) <= answeredAt,
  );
  return [...new Set([owner?.orderId, died?.orderId])].filter((id) => id !== undefined);
}
