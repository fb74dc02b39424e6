/** No user has two orders for the voucher. */

import type { Check } from '../check.ts';
import { confirmed } from '../facts.ts';

export const oneOrderPerUser: Check = {
  name: 'one-order-per-user',
  skip: ({ onePerUser }) => (onePerUser ? null : ['not-promised']),
  cases(facts) {
    const byUser = Map.groupBy(confirmed(facts), ({ userId }) => userId);
    return [...byUser]
      .filter(([, orders]) => orders.length > 1)
      .map(([userId, orders]) => {
        const ids = orders.map(({ id }) => id);
        return {
          evidence: ['user-has-orders', userId, ids.length, ids.slice(0, 2)],
          severity: ids.length,
          orders: ids.slice(0, 2),
        };
      });
  },
  evidence: ['after-check', 'accepted'],
};
