/** Every accepted attempt has its order in MySQL: confirmed, or failed with a reason. */
import type { Check } from '../finding.ts';

export const acceptedOrdersExist: Check = ({ attempts = [], mysql, redis }) => {
  const rows = new Set(mysql.orders.map(({ id }) => id));
  const queued = new Set(redis?.queued);
  const missing = attempts.filter(
    ({ outcome, orderId }) => outcome === 'accepted' && !rows.has(orderId ?? ''),
  );
  const lost = missing.filter(({ orderId }) => !queued.has(orderId ?? ''));
  if (lost.length === 0 && missing.length > 0) return 'undecided';
  return lost.map(({ userId, orderId, requestId }) => ({
    evidence: `user ${userId} was told that order ${orderId} is accepted (request ${requestId}); there is no such order`,
    severity: 1,
    orders: orderId === undefined ? [] : [orderId],
  }));
};
