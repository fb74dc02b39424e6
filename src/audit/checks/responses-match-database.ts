/**
 * Every answer was true when it was given: the owner of an order, an earlier order, "sold out".
 * Answers are judged in real time: an answer may only rest on requests that had been sent before
 * it.
 */
import { type Case, type Check, needsAttempts, outcomes } from '../check.ts';
import type { Attempt, Facts } from '../facts.ts';

export const responsesMatchDatabase: Check = {
  name: 'responses-match-database',
  skip: needsAttempts,
  cases: (facts) => [
    ...wrongOwner(facts),
    ...soldOutTooEarly(facts),
    ...orderedTooEarly(facts),
    ...soldAfterSoldOut(facts),
    ...historyDisagrees(facts),
  ],
  evidence: outcomes,
};

const sentAt = ({ sentAt: at }: Attempt): bigint => BigInt(at ?? 0);
/** Without a time, after everything else: then the answer proves nothing. */
const answeredAt = ({ answeredAt: at }: Attempt): bigint => BigInt(at ?? 2n ** 63n);
const ordersOf = ({ orderId }: Attempt): string[] => (orderId === undefined ? [] : [orderId]);

function wrongOwner({ attempts = [], mysql, redis }: Facts): Case[] {
  const owners = new Map(mysql.orders.map(({ id, userId }) => [id, userId]));
  const queued = new Set(redis?.queued);
  const isWrong = ({ outcome, reason, orderId, userId }: Attempt): boolean => {
    if (orderId === undefined) return outcome === 'accepted' || reason === 'already-ordered';
    if (queued.has(orderId)) return false;
    // An accepted order that does not exist is the finding of no-lost-orders.
    if (!owners.has(orderId)) return reason === 'already-ordered';
    return owners.get(orderId) !== userId;
  };
  return attempts.filter(isWrong).map((attempt) => {
    const { userId, orderId, outcome, reason } = attempt;
    const owner = owners.get(orderId ?? '') ?? 'nobody';
    const evidence = `user ${userId} was answered ${reason ?? outcome} with order ${orderId}, which belongs to ${owner}`;
    return { evidence, severity: 1, orders: ordersOf(attempt) };
  });
}

/**
 * "Sold out" is true only if as many purchases as there was stock had been sent before it was
 * answered.
 */
function soldOutTooEarly({ initialStock, attempts = [] }: Facts): Case[] {
  const takers = attempts
    .filter(({ outcome }) => outcome === 'accepted' || outcome === 'unknown')
    .map(sentAt)
    .sort(ascending);
  const lastNeeded = initialStock === 0 ? 0n : takers[initialStock - 1];
  return attempts
    .filter(({ reason }) => reason === 'sold-out')
    .filter((attempt) => lastNeeded === undefined || answeredAt(attempt) < lastNeeded)
    .map((attempt) => {
      const before = takers.filter((at) => at < answeredAt(attempt)).length;
      return {
        evidence: `user ${attempt.userId} was answered sold-out, but at most ${before} of ${initialStock} could be taken by then`,
        severity: initialStock - before,
        orders: ordersOf(attempt),
      };
    });
}

const ascending = (one: bigint, other: bigint): number => (one < other ? -1 : Number(one > other));

/**
 * "Already ordered" is true only if the purchase of that order had been sent before it was
 * answered.
 */
function orderedTooEarly({ attempts = [] }: Facts): Case[] {
  const firstSent = new Map<string, bigint>();
  for (const attempt of attempts) {
    if (attempt.outcome !== 'accepted' || attempt.orderId === undefined) continue;
    const known = firstSent.get(attempt.orderId);
    const at = sentAt(attempt);
    if (known === undefined || at < known) firstSent.set(attempt.orderId, at);
  }
  return attempts
    .filter(({ reason }) => reason === 'already-ordered')
    .filter((attempt) => answeredAt(attempt) < (firstSent.get(attempt.orderId ?? '') ?? 0n))
    .map((attempt) => ({
      evidence: `user ${attempt.userId} was answered already-ordered (order ${attempt.orderId}) before that order was requested`,
      severity: 1,
      orders: ordersOf(attempt),
    }));
}

/** After "sold out" nothing is sold, unless a failed order gave its stock back. */
function soldAfterSoldOut({ attempts = [], mysql }: Facts): Case[] {
  if (mysql.orders.some(({ status }) => status === 'failed')) return [];
  const soldOut = attempts.filter(({ reason }) => reason === 'sold-out').map(answeredAt);
  const first = soldOut.sort(ascending)[0];
  if (first === undefined) return [];
  return attempts
    .filter((attempt) => attempt.outcome === 'accepted' && sentAt(attempt) > first)
    .map((attempt) => ({
      evidence: `order ${attempt.orderId} of user ${attempt.userId} was requested and accepted after "sold out" had been answered`,
      severity: 1,
      orders: ordersOf(attempt),
    }));
}

/** The history's outcome of a request is the one that its client was answered. */
function historyDisagrees({ attempts = [], history = [] }: Facts): Case[] {
  const events = history.filter(({ event }) => ['accepted', 'refused', 'unknown'].includes(event));
  const recorded = new Map(events.map((event) => [event.requestId, event]));
  return attempts.flatMap((attempt) => {
    const event = recorded.get(attempt.requestId);
    const isSame = event?.event === attempt.outcome || attempt.outcome === 'unknown';
    if (event === undefined || isSame) return [];
    const evidence = `request ${attempt.requestId} was answered ${attempt.outcome}, and the history says ${event.event}`;
    return [{ evidence, severity: 1, orders: [event.orderId] }];
  });
}
