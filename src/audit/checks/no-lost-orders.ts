/** Every accepted attempt has its order in MySQL: confirmed, or failed with a reason. */
import { type Check, needsAttempts, outcomes } from '../check.ts';

export const noLostOrders: Check = {
  name: 'no-lost-orders',
  skip: needsAttempts,
  cases({ attempts = [], mysql, redis }) {
    const rows = new Set(mysql.orders.map(({ id }) => id));
    const queued = new Set(redis?.queued);
    const missing = attempts.filter(
      ({ outcome, orderId }) => outcome === 'accepted' && !rows.has(orderId ?? ''),
    );
    const lost = missing.filter(({ orderId }) => !queued.has(orderId ?? ''));
    if (lost.length === 0 && missing.length > 0) return 'undecided';
    return lost.map(({ userId, orderId, requestId }) => ({
      evidence: `order ${orderId} of user ${userId} was accepted (request ${requestId}) and does not exist`,
      severity: 1,
      orders: orderId === undefined ? [] : [orderId],
    }));
  },
  evidence: outcomes,
};
