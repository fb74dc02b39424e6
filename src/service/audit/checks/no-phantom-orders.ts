/**
 * No order without an attempt that was accepted, or whose outcome is unknown. The order of a replay
 * has the attempt of the order that failed.
 */
import { type Check, caseOf, needsAttempts, outcomes } from '../check.ts';
import { firstOrderOf } from '../facts.ts';

export const noPhantomOrders: Check = {
  name: 'no-phantom-orders',
  skip: needsAttempts,
  cases(facts) {
    const { attempts = [], mysql } = facts;
    const firstOf = firstOrderOf(facts);
    const accepted = new Set(
      attempts.filter(({ outcome }) => outcome === 'accepted').map(({ orderId }) => orderId),
    );
    const unknown = new Map<string, number>();
    for (const { outcome, userId } of attempts)
      if (outcome === 'unknown') unknown.set(userId, (unknown.get(userId) ?? 0) + 1);
    const isExplained = (userId: string): boolean => {
      const left = unknown.get(userId) ?? 0;
      unknown.set(userId, left - 1);
      return left > 0;
    };
    return mysql.orders
      .filter(({ id, userId }) => !accepted.has(firstOf(id)) && !isExplained(userId))
      .map(({ id, userId }) => caseOf(['order-without-attempt', id, userId], id));
  },
  evidence: outcomes,
};
