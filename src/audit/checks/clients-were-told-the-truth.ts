/** What clients were told agrees with the database: whose the order is, who has one already, and when all was sold. */
import type { Attempt, Facts } from '../facts.ts';
import type { Case, Check } from '../finding.ts';

export const clientsWereToldTheTruth: Check = (facts) => {
  const owners = new Map(facts.mysql.orders.map(({ id, userId }) => [id, userId]));
  const queued = new Set(facts.redis?.queued);
  const attempts = facts.attempts ?? [];
  const isFalse = ({ outcome, reason, orderId, userId }: Attempt): boolean => {
    if (orderId === undefined) return outcome === 'accepted' || reason === 'already-ordered';
    if (queued.has(orderId)) return false;
    // An accepted order that is nowhere is the finding of accepted-orders-exist.
    if (!owners.has(orderId)) return reason === 'already-ordered';
    return owners.get(orderId) !== userId;
  };
  return [
    ...attempts.filter(isFalse).map(({ userId, orderId, outcome, reason }) => ({
      evidence: `user ${userId} was told ${reason ?? outcome} with order ${orderId}, which is user ${owners.get(orderId ?? '')}'s`,
      severity: 1,
      orders: orderId === undefined ? [] : [orderId],
    })),
    ...soldOutTooEarly(facts, attempts),
  ];
};

/** "Sold out" is true only if everything was taken at some time: confirmed, failed and given back, or unknown. */
function soldOutTooEarly(
  { initialStock, mysql, redis, history = [] }: Facts,
  attempts: readonly Attempt[],
): Case[] {
  const refusedSoldOut = attempts.filter(({ reason }) => reason === 'sold-out').length;
  const told = (wanted: Attempt['outcome']) => attempts.filter(({ outcome }) => outcome === wanted);
  const accepted = new Set(told('accepted').map(({ orderId }) => orderId));
  const recorded = [...new Set([...mysql.orders.map(({ id }) => id), ...(redis?.queued ?? [])])];
  const unacknowledged = recorded.filter((id) => !accepted.has(id)).length; // Each of them was an unknown attempt.
  const taken = recorded.length + Math.max(0, told('unknown').length - unacknowledged);
  if (refusedSoldOut === 0 || taken >= initialStock) return [];
  const evidence = `${refusedSoldOut} were told sold-out, but only ${taken} of ${initialStock} were ever taken`;
  const toldSo = history.find(({ reason }) => reason === 'sold-out');
  return [{ evidence, severity: initialStock - taken, orders: toldSo ? [toldSo.orderId] : [] }];
}
