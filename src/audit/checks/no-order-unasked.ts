/** No order without an attempt that was accepted, or whose outcome its client never learnt. */
import type { Check } from '../finding.ts';

export const noOrderUnasked: Check = ({ attempts = [], mysql }) => {
  const accepted = new Set(
    attempts.filter(({ outcome }) => outcome === 'accepted').map(({ orderId }) => orderId),
  );
  const unknown = new Map<string, number>();
  for (const { outcome, userId } of attempts)
    if (outcome === 'unknown') unknown.set(userId, (unknown.get(userId) ?? 0) + 1);
  const explained = (userId: string): boolean => {
    const left = unknown.get(userId) ?? 0;
    unknown.set(userId, left - 1);
    return left > 0;
  };
  return mysql.orders
    .filter(({ id, userId }) => !accepted.has(id) && !explained(userId))
    .map(({ id, userId }) => ({
      evidence: `order ${id} of user ${userId} answers no attempt`,
      severity: 1,
      orders: [id],
    }));
};
