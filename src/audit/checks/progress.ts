/**
 * A sale goes on: a free lock can be acquired, and stock that is left can be bought. A refusal as
 * busy while no other order uses the lock is a violation, and so is a grant long after the release:
 * a lost wake-up. A run in which nobody bought although stock was left proves nothing.
 */
import type { HistoryEvent } from '../../trace/history.ts';
import type { Case, Check, Undecided } from '../check.ts';
import { confirmed, type Facts } from '../facts.ts';
import { sectionsOf } from '../sections.ts';
import { incomplete } from './mutual-exclusion.ts';

/** A free lock must be noticed within this time; a polling lock needs some milliseconds. */
const noticeMs = 500;
/** A grant this long after the release came by a timer, and not by the release. */
const wakeUpMs = 1_000;

export const progress: Check = {
  name: 'progress',
  skip: ({ attempts, history }) =>
    attempts || history ? null : 'neither answers nor history were kept',
  cases(facts) {
    const cases = facts.locked ? unnoticed(facts) : [];
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

/** Requests that did not notice in time that the lock was free. */
function unnoticed({ history = [] }: Facts): Case[] {
  const sections = sectionsOf(history, 'released');
  return history.flatMap((answer) => {
    const mostMs = { denied: noticeMs, granted: wakeUpMs }[String(answer.event)];
    if (mostMs === undefined) return [];
    const freeMs = freeForMs(answer, history, sections);
    if (freeMs < mostMs) return [];
    const evidence =
      answer.event === 'denied'
        ? `user ${answer.userId} was refused as busy although no other purchase was using the lock`
        : `user ${answer.userId} got the lock ${Math.round(freeMs)} ms after it was free`;
    return [
      { evidence, severity: 1, orders: [...blamed(answer, history, sections), answer.orderId] },
    ];
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
  const began = history.findLast(
    ({ event, orderId, at }) =>
      (event === 'requested' || event === 'resumed') &&
      orderId === answer.orderId &&
      BigInt(at) <= answeredAt,
  );
  const beganAt = BigInt(began?.at ?? answer.at);
  let freeSince = beganAt;
  for (const { from, to } of ofOthers(answer, sections)) {
    if (from < answeredAt && to > answeredAt) return 0;
    if (to <= answeredAt && to > freeSince) freeSince = to;
  }
  // A slow answer is no lost wake-up: nothing was released that it could have missed.
  if (answer.event === 'granted' && freeSince === beganAt) return 0;
  return Number(answeredAt - freeSince) / 1_000_000;
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
