/** The answers to clients agree with the database: the owner of an order, an earlier order, and "sold out". */
import { type Case, type Check, needsAttempts, outcomes } from '../check.ts';
import type { Attempt, Facts } from '../facts.ts';

export const responsesMatchDatabase: Check = {
  name: 'responses-match-database',
  skip: needsAttempts,
  cases: (facts) => [...wrongOwner(facts), ...soldOutTooEarly(facts)],
  evidence: outcomes,
};

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
  return attempts.filter(isWrong).map(({ userId, orderId, outcome, reason }) => ({
    evidence: `user ${userId} was answered ${reason ?? outcome} with order ${orderId}, which belongs to user ${owners.get(orderId ?? '')}`,
    severity: 1,
    orders: orderId === undefined ? [] : [orderId],
  }));
}

/** "Sold out" is true only if everything was taken at some time: confirmed, failed and given back, or unknown. */
function soldOutTooEarly({
  initialStock,
  mysql,
  redis,
  attempts = [],
  history = [],
}: Facts): Case[] {
  const soldOut = attempts.filter(({ reason }) => reason === 'sold-out').length;
  const withOutcome = (wanted: Attempt['outcome']) =>
    attempts.filter(({ outcome }) => outcome === wanted);
  const accepted = new Set(withOutcome('accepted').map(({ orderId }) => orderId));
  const recorded = [...new Set([...mysql.orders.map(({ id }) => id), ...(redis?.queued ?? [])])];
  const unacknowledged = recorded.filter((id) => !accepted.has(id)).length; // Each of them was an unknown attempt.
  const taken = recorded.length + Math.max(0, withOutcome('unknown').length - unacknowledged);
  if (soldOut === 0 || taken >= initialStock) return [];
  const first = history.find(({ reason }) => reason === 'sold-out');
  return [
    {
      evidence: `${soldOut} were answered sold-out, but only ${taken} of ${initialStock} were ever taken`,
      severity: initialStock - taken,
      orders: first ? [first.orderId] : [],
    },
  ];
}
