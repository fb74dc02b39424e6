/**
 * Every accepted attempt has its order in MySQL: confirmed; or failed, and its user has another one
 * or an operator replayed it. A `stock-short` order is lost: Redis sold more than there was.
 */
import { type Case, type Check, caseOf, needsAttempts, outcomes } from '../check.ts';
import { confirmed, type Facts, firstOrderOf, type OrderRow } from '../facts.ts';
import type { Evidence } from '../sentences.ts';

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
      const isLost = row ? isUnprovenFailure(row, facts) : !queued.has(orderId);
      if (!isLost) continue;
      const evidence: Evidence = row
        ? ['accepted-order-failed', orderId, userId, requestId, row.reason]
        : ['accepted-order-missing', orderId, userId, requestId];
      cases.push(caseOf(evidence, orderId));
    }
    const isEarly = cases.length === 0 && isQueued;
    return isEarly ? { undecided: ['accepted-orders-queued'] } : cases;
  },
  evidence: ['claimed', 'delivered', ...outcomes],
};

/** Not of a confirmed order, of a replayed one, and of one whose user has another order. */
function isUnprovenFailure({ status, reason, userId, id }: OrderRow, facts: Facts): boolean {
  if (status === 'confirmed') return false;
  const others = confirmed(facts);
  const firstOf = firstOrderOf(facts);
  const isReplayed = others.some((order) => order.userId === userId && firstOf(order.id) === id);
  if (isReplayed) return false;
  const hasAnother = others.some((order) => order.userId === userId && order.id !== id);
  return !(reason === 'user-has-another-order' && hasAnother);
}
