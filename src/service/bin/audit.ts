/**
 * `audit` for a deployment: MySQL and Redis of one voucher, also while it is sold. The service runs
 * it for GET /vouchers/{id}/audit, so that a large sale takes no memory of an instance. Exit codes:
 * 0 held, 1 violated, 2 could not tell.
 */
import { z } from 'zod';
import { auditInParts, type VoucherAudit } from '../audit/audit-in-parts.ts';
import { readConfig } from '../config.ts';
import { refuseOtherShards } from '../connections/epoch.ts';
import { operate } from '../operate/operate.ts';
import { idWord } from '../operate/words.ts';
import { withStores } from '../processes/with-stores.ts';

const exitCodes = { held: 0, violated: 1, unknown: 2 } as const;

await operate({
  usage: 'Usage: node dist/service/bin/audit.js VOUCHER_ID [--json]',
  given: z.object({ voucherId: idWord }),
  words: ['voucherId'],
  isOneLine: true,
  run: async ({ voucherId }) => {
    const audited = await withStores(readConfig(), async (opened) => {
      await refuseOtherShards(opened);
      return auditInParts(opened, voucherId);
    });
    const text = audited ? auditText(audited) : `There is no voucher ${voucherId}.`;
    return { data: audited, text, exitCode: exitCodes[audited?.verdict ?? 'unknown'] };
  },
});

function auditText(audited: VoucherAudit): string {
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
