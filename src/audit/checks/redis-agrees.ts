/** After the drain, Redis and MySQL tell the same story: the same stock, the same buyers with the same orders. */
import { confirmed } from '../facts.ts';
import type { Case, Check } from '../finding.ts';

export const redisAgrees: Check = (facts) => {
  const { redis, mysql } = facts;
  if (!redis || redis.queued.length > 0) return 'undecided';
  const cases: Case[] = [];
  const orders = new Map(confirmed(facts).map(({ userId, id }) => [userId, id]));
  for (const [userId, id] of Object.entries(redis.buyers))
    if (orders.get(userId) !== id)
      cases.push({
        evidence: `Redis sold order ${id} to user ${userId}, MySQL has ${orders.get(userId)}`,
        severity: 1,
        orders: [id, orders.get(userId) ?? id],
      });
  for (const [userId, id] of orders)
    if (redis.buyers[userId] === undefined)
      cases.push({
        evidence: `MySQL has order ${id} of user ${userId}, who is no buyer in Redis`,
        severity: 1,
        orders: [id],
      });
  if (redis.stock !== mysql.stock)
    cases.unshift({
      evidence: `Redis has ${redis.stock ?? 'lost the voucher, nothing'} left, MySQL ${mysql.stock}`,
      severity: Math.abs((redis.stock ?? 0) - mysql.stock),
      orders: cases.flatMap(({ orders = [] }) => orders),
    });
  return cases;
};
