/** The audit of a voucher as lines for people. */
import type { VoucherAudit } from './audit-in-parts.ts';

export function auditText(audited: VoucherAudit): string {
  const { verdict, initialStock, stock, orders, usersWithTwoOrders, findings, skipped } = audited;
  const sold = `${orders} orders of ${initialStock}, ${stock} left`;
  return [
    `${verdict}: ${sold}; users with two orders: ${usersWithTwoOrders}`,
    ...findings.map(({ check, verdict: each, count, first }) =>
      [`  ${each.padEnd(8)}  ${check}`, count > 0 ? ` (${count})` : '', first ? `: ${first}` : '']
        .join('')
        .trimEnd(),
    ),
    ...skipped.map(({ check, why }) => `  not run   ${check}: ${why}`),
  ].join('\n');
}
