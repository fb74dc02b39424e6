/** After the drain, Redis and MySQL agree: the same stock, the same buyers, and each buyer's order. */
import { type Case, type Check, outcomes } from '../check.ts';
import { confirmed } from '../facts.ts';
import { groupBy } from '../group-by.ts';

export const redisMatchesMysql: Check = {
  name: 'redis-matches-mysql',
  skip: ({ redis }) => (redis ? null : 'this rung keeps no buyers in Redis'),
  cases(facts) {
    const { redis, mysql } = facts;
    if (!redis || redis.queued.length > 0) return 'undecided';
    const cases: Case[] = [];
    const orders = groupBy(confirmed(facts), ({ userId }) => userId);
    for (const [userId, id] of Object.entries(redis.buyers)) {
      const inMysql = orders.get(userId) ?? [];
      if (inMysql.some((order) => order.id === id)) continue;
      const other = inMysql.map((order) => order.id);
      cases.push({
        evidence: `Redis sold order ${id} to user ${userId}, MySQL has ${other.join(', ') || 'no order of this user'}`,
        severity: 1,
        orders: [id, ...other],
      });
    }
    for (const [userId, [order]] of orders)
      if (order && redis.buyers[userId] === undefined)
        cases.push({
          evidence: `MySQL has order ${order.id} of user ${userId}, who is no buyer in Redis`,
          severity: 1,
          orders: [order.id],
        });
    if (redis.stock !== mysql.stock)
      cases.unshift({
        evidence: `the stock is ${redis.stock ?? 'missing'} in Redis and ${mysql.stock} in MySQL`,
        severity: Math.abs((redis.stock ?? 0) - mysql.stock),
        orders: cases.flatMap(({ orders: proving = [] }) => proving),
      });
    return cases;
  },
  evidence: ['claimed', ...outcomes, 'died'],
};
