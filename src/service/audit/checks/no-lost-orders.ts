/**
 * Every accepted attempt has its order in MySQL: confirmed; or failed, and its user has another one
 * or an operator replayed it. A `stock-short` order is lost: Redis sold more than there was.
 */
import { type Case, type Check, needsAttempts, outcomes } from '../check.ts';
import { confirmed, type Facts, firstOrderOf, type OrderRow } from '../facts.ts';

export const noLostOrders: Check = {
  name: 'no-lost-orders',
  skip: needsAttempts,
  cases(facts) {
    const { attempts = [], mysql, redis } = facts;
    const rows = new Map(mysql.orders.map((row) => [row.id, row]));
    const queued = new Set(redis?.queued);
    const cases: Case[] = [];
    let isQueued = false;
    for (const { outcome, userId, orderId = '', requestId } of attempts) {
      if (outcome !== 'accepted') continue;
      const row = rows.get(orderId);
      if (!row && queued.has(orderId)) isQueued = true;
      const fault = row
        ? unprovenFailure(row, facts)
        : queued.has(orderId)
          ? null
          : 'does not exist';
      if (fault === null) continue;
      const evidence = `order ${orderId} of user ${userId} was accepted (request ${requestId}) and ${fault}`;
      cases.push({ evidence, severity: 1, orders: [orderId] });
    }
    const isEarly = cases.length === 0 && isQueued;
    return isEarly ? { undecided: 'accepted orders are still queued' } : cases;
  },
  evidence: ['claimed', 'delivered', ...outcomes],
};

/** Null for a confirmed order, for a replayed one, and for one whose user has another order. */
function unprovenFailure({ status, reason, userId, id }: OrderRow, facts: Facts): string | null {
  if (status === 'confirmed') return null;
  const others = confirmed(facts);
  const firstOf = firstOrderOf(facts);
  const isReplayed = others.some((order) => order.userId === userId && firstOf(order.id) === id);
  if (isReplayed) return null;
  const hasAnother = others.some((order) => order.userId === userId && order.id !== id);
  if (reason === 'user-has-another-order' && hasAnother) return null;
  return `failed (${reason}), and no other order explains it`;
}
