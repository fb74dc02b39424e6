/**
 * After the drain, Redis and MySQL agree: the same stock, the same buyers, and each buyer's order.
 */

import { type Case, type Check, caseOf, outcomes } from '../check.ts';
import { confirmed, type Facts } from '../facts.ts';

export const redisMatchesMysql: Check = {
  name: 'redis-matches-mysql',
  skip: ({ redis }) => (redis ? null : ['no-stock-in-redis']),
  cases(facts) {
    const { redis, mysql } = facts;
    if (!redis || redis.queued.length > 0) return { undecided: ['orders-queued'] };
    if (redis.isMoving) return { undecided: ['redis-moves'] };
    const cases = [...buyersWithoutOrder(facts), ...ordersWithoutBuyer(facts)];
    if (redis.stock !== mysql.stock)
      cases.unshift({
        evidence: ['stocks-differ', redis.stock, mysql.stock],
        severity: Math.abs((redis.stock ?? 0) - mysql.stock),
        orders: [...cases.flatMap(({ orders = [] }) => orders), ...diedInside(facts)],
      });
    return cases;
  },
  evidence: ['claimed', 'stock-taken', ...outcomes, 'died'],
};

/** A unit that nobody has may be that of a purchase whose process died. */
function diedInside(facts: Facts): string[] {
  const sold = new Set(confirmed(facts).map(({ id }) => id));
  const { history = [] } = facts;
  return history
    .filter(({ event, orderId }) => event === 'died' && !sold.has(orderId))
    .map(({ orderId }) => orderId);
}

function buyersWithoutOrder(facts: Facts): Case[] {
  const byUser = Map.groupBy(confirmed(facts), ({ userId }) => userId);
  return Object.entries(facts.redis?.buyers ?? {}).flatMap(([userId, id]) => {
    const ids = (byUser.get(userId) ?? []).map((order) => order.id);
    if (ids.includes(id)) return [];
    return [caseOf(['buyer-without-order', userId, id, ids], id, ...ids)];
  });
}

function ordersWithoutBuyer(facts: Facts): Case[] {
  const buyers = facts.redis?.buyers;
  if (!buyers) return [];
  return confirmed(facts)
    .filter(({ userId }) => buyers[userId] === undefined)
    .map(({ id, userId }) => caseOf(['order-without-buyer', id, userId], id));
}
