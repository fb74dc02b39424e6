/** No user has two orders for the voucher. */

import type { Check } from '../check.ts';
import { confirmed } from '../facts.ts';

export const oneOrderPerUser: Check = {
  name: 'one-order-per-user',
  skip: ({ onePerUser }) => (onePerUser ? null : 'this rung does not promise it'),
  cases(facts) {
    const byUser = Map.groupBy(confirmed(facts), ({ userId }) => userId);
    return [...byUser]
      .filter(([, orders]) => orders.length > 1)
      .map(([userId, orders]) => {
        const ids = orders.map(({ id }) => id);
        return {
          evidence: `user ${userId} has ${ids.length} orders: ${shortList(ids)}`,
          severity: ids.length,
          orders: ids.slice(0, 2),
        };
      });
  },
  evidence: ['after-check', 'accepted'],
};

/** The first two ids, and how many more there are. */
function shortList(ids: readonly string[]): string {
  const more = ids.length > 2 ? ` and ${ids.length - 2} more` : '';
  return `${ids.slice(0, 2).join(', ')}${more}`;
}
