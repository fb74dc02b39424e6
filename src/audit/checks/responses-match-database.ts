/**
 * Every answer was true when it was given: the owner of an order, an earlier order, "sold out".
 * Answers are judged in real time: an answer may only rest on requests that had been sent before
 * it.
 */
import { type Case, type Check, needsAttempts, outcomes } from '../check.ts';
import type { Attempt, Facts } from '../facts.ts';
import { groupBy } from '../group-by.ts';

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

/**
 * When each purchase may have happened first, by its request id. A client repeats a request while
 * its outcome is unknown; a refused one took nothing.
 */
function takenTimes(attempts: readonly Attempt[]): Map<string, bigint> {
  const times = new Map<string, bigint>();
  for (const { outcome, requestId, sentAt = 0 } of attempts) {
    const known = times.get(requestId);
    if (outcome === 'refused' || (known !== undefined && known <= BigInt(sentAt))) continue;
    times.set(requestId, BigInt(sentAt));
  }
  return times;
}

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
  const takers = [...takenTimes(attempts).values()].sort(ascending);
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
  const takenAt = takenTimes(attempts);
  const accepted = attempts.filter(({ outcome }) => outcome === 'accepted');
  const orderedAt = new Map(
    accepted.map(({ orderId = '', requestId }) => [orderId, takenAt.get(requestId) ?? 0n]),
  );
  return attempts
    .filter(({ reason }) => reason === 'already-ordered')
    .filter((attempt) => answeredAt(attempt) < (orderedAt.get(attempt.orderId ?? '') ?? 0n))
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
  const takenAt = takenTimes(attempts);
  const isLater = ({ requestId }: Attempt) => (takenAt.get(requestId) ?? 0n) > first;
  return attempts
    .filter((attempt) => attempt.outcome === 'accepted' && isLater(attempt))
    .map((attempt) => ({
      evidence: `order ${attempt.orderId} of user ${attempt.userId} was requested and accepted after "sold out" had been answered`,
      severity: 1,
      orders: ordersOf(attempt),
    }));
}

/**
 * The history has an outcome that the client was answered. A repeated request has several; an
 * answer of nginx has none.
 */
function historyDisagrees({ attempts = [], history = [] }: Facts): Case[] {
  const events = history.filter(({ event }) => ['accepted', 'refused', 'unknown'].includes(event));
  const recorded = groupBy(events, ({ requestId }) => requestId);
  return attempts.flatMap((attempt) => {
    if (attempt.outcome === 'unknown' || attempt.instance === 'nginx') return [];
    const all = recorded.get(attempt.requestId) ?? [];
    const last = all.at(-1);
    if (!last || all.some(({ event }) => event === attempt.outcome)) return [];
    const evidence = `request ${attempt.requestId} was answered ${attempt.outcome}, and the history says ${last.event}`;
    return [{ evidence, severity: 1, orders: [last.orderId] }];
  });
}
