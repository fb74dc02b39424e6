/** One order id never means two purchases, in the database or in what clients were told. */
import type { Check } from '../finding.ts';

export const orderIdsUnique: Check = ({ attempts = [], mysql }) => {
  const purchases = new Map<string, Set<string>>();
  const meet = (id: string, purchase: string) =>
    purchases.set(id, (purchases.get(id) ?? new Set()).add(purchase));
  for (const { outcome, orderId, userId, requestId } of attempts)
    if (outcome === 'accepted' && orderId !== undefined)
      meet(orderId, `user ${userId}, request ${requestId}`);
  const twice = [...purchases].filter(([, meanings]) => meanings.size > 1);
  const rows = new Map<string, number>();
  for (const { id } of mysql.orders) rows.set(id, (rows.get(id) ?? 0) + 1);
  return [
    ...twice.map(([id, all]) => ({
      evidence: `order ${id} means ${[...all].join(' and ')}`,
      severity: all.size,
      orders: [id],
    })),
    ...[...rows]
      .filter(([, count]) => count > 1)
      .map(([id, count]) => ({
        evidence: `order ${id} stands ${count} times in MySQL`,
        severity: count,
        orders: [id],
      })),
  ];
};
