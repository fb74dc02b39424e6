/** No user has two orders for the voucher. */
import type { Check } from '../check.ts';
import { confirmed } from '../facts.ts';
import { groupBy } from '../group-by.ts';

export const oneOrderPerUser: Check = {
  name: 'one-order-per-user',
  skip: ({ onePerUser }) => (onePerUser ? null : 'this rung does not promise it'),
  cases(facts) {
    const byUser = groupBy(confirmed(facts), ({ userId }) => userId);
    return [...byUser]
      .filter(([, orders]) => orders.length > 1)
      .map(([userId, orders]) => {
        const ids = orders.map(({ id }) => id);
        return {
          evidence: `user ${userId} has ${ids.length} orders: ${ids.join(', ')}`,
          severity: ids.length,
          orders: ids.slice(0, 2),
        };
      });
  },
  evidence: ['after-check', 'accepted'],
};
