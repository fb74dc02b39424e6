/** One order id never means two purchases, neither in MySQL nor in the answers to clients. */

import { type Check, never, outcomes } from '../check.ts';
import type { Facts } from '../facts.ts';

export const orderIdsUnique: Check = {
  name: 'order-ids-unique',
  skip: never,
  cases: (facts) => [...acceptedTwice(facts), ...storedTwice(facts)],
  evidence: outcomes,
};

function acceptedTwice({ attempts = [] }: Facts) {
  const purchases = new Map<string, Set<string>>();
  for (const { outcome, orderId, userId, requestId } of attempts) {
    if (outcome !== 'accepted' || orderId === undefined) continue;
    const meanings = purchases.get(orderId) ?? new Set<string>();
    purchases.set(orderId, meanings.add(`user ${userId}, request ${requestId}`));
  }
  return [...purchases]
    .filter(([, meanings]) => meanings.size > 1)
    .map(([id, meanings]) => ({
      evidence: `order ${id} means ${[...meanings].join(' and ')}`,
      severity: meanings.size,
      orders: [id],
    }));
}

function storedTwice({ mysql }: Facts) {
  const rows = Map.groupBy(mysql.orders, ({ id }) => id);
  return [...rows]
    .filter(([, same]) => same.length > 1)
    .map(([id, same]) => ({
      evidence: `order ${id} is ${same.length} times in MySQL`,
      severity: same.length,
      orders: [id],
    }));
}
