/** One order id never means two purchases, neither in MySQL nor in the answers to clients. */

import { type Case, type Check, never, outcomes } from '../check.ts';
import type { Attempt, Facts } from '../facts.ts';

export const orderIdsUnique: Check = {
  name: 'order-ids-unique',
  skip: never,
  cases: (facts) => [...acceptedTwice(facts), ...storedTwice(facts)],
  evidence: outcomes,
};

type Purchase = Pick<Attempt, 'userId' | 'requestId'>;

function acceptedTwice({ attempts = [] }: Facts): Case[] {
  const purchases = new Map<string, Map<string, Purchase>>();
  for (const { outcome, orderId, userId, requestId } of attempts) {
    if (outcome !== 'accepted' || orderId === undefined) continue;
    const meanings = purchases.get(orderId) ?? new Map<string, Purchase>();
    purchases.set(orderId, meanings.set(`${userId} ${requestId}`, { userId, requestId }));
  }
  return [...purchases]
    .filter(([, meanings]) => meanings.size > 1)
    .map(([id, meanings]) => ({
      evidence: ['order-id-means-several', id, [...meanings.values()]],
      severity: meanings.size,
      orders: [id],
    }));
}

function storedTwice({ mysql }: Facts): Case[] {
  const rows = Map.groupBy(mysql.orders, ({ id }) => id);
  return [...rows]
    .filter(([, same]) => same.length > 1)
    .map(([id, same]) => ({
      evidence: ['order-stored-again', id, same.length],
      severity: same.length,
      orders: [id],
    }));
}
