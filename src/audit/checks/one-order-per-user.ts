/** Nobody has two orders for the voucher. */
import { confirmed } from '../facts.ts';
import type { Check } from '../finding.ts';

export const oneOrderPerUser: Check = (facts) => {
  const byUser = new Map<string, string[]>();
  for (const { id, userId } of confirmed(facts)) byUser.set(userId, [...(byUser.get(userId) ?? []), id]);
  return [...byUser]
    .filter(([, ids]) => ids.length > 1)
    .map(([userId, ids]) => ({
      evidence: `user ${userId} has ${ids.length} orders: ${ids.join(', ')}`,
      severity: ids.length,
      orders: ids.slice(0, 2),
    }));
};
