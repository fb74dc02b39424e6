/** What clients were told agrees with the database: whose the order is, who has one already, and when all was sold. */
import type { Attempt, Facts } from '../facts.ts';
import type { Case, Check } from '../finding.ts';

export const clientsWereToldTheTruth: Check = (facts) => {
  const owners = new Map(facts.mysql.orders.map(({ id, userId }) => [id, userId]));
  const queued = new Set(facts.redis?.queued);
  const attempts = facts.attempts ?? [];
  const isFalse = ({ outcome, reason, orderId, userId }: Attempt): boolean => {
    if (orderId === undefined) return outcome === 'accepted' || reason === 'already-ordered';
    return !queued.has(orderId) && owners.has(orderId) && owners.get(orderId) !== userId;
  };
  return [
    ...attempts.filter(isFalse).map(({ userId, orderId, outcome, reason }) => ({
      evidence: `user ${userId} was told ${reason ?? outcome} with order ${orderId}, which is user ${owners.get(orderId ?? '')}'s`,
      severity: 1,
    })),
    ...soldOutTooEarly(facts, attempts),
  ];
};

/** "Sold out" is true only if everything was taken at some time: confirmed, failed and given back, or unknown. */
function soldOutTooEarly({ initialStock, mysql, redis }: Facts, attempts: readonly Attempt[]): Case[] {
  const refusedSoldOut = attempts.filter(({ reason }) => reason === 'sold-out').length;
  const unknown = attempts.filter(({ outcome }) => outcome === 'unknown').length;
  const taken = mysql.orders.length + (redis?.queued.length ?? 0) + unknown;
  if (refusedSoldOut === 0 || taken >= initialStock) return [];
  const evidence = `${refusedSoldOut} were told sold-out, but only ${taken} of ${initialStock} were ever taken`;
  return [{ evidence, severity: initialStock - taken }];
}
