/**
 * `audit` for a deployment: MySQL and Redis of one voucher, also while it is sold. The service runs
 * it for GET /vouchers/{id}/audit, so that a large sale takes no memory of an instance. Exit codes:
 * 0 held, 1 violated, 2 could not tell.
 */
import { parseArgs } from 'node:util';
import { auditInParts } from '../audit/audit-in-parts.ts';
import { auditText } from '../audit/audit-text.ts';
import { readConfig } from '../config.ts';
import { refuseOtherShards } from '../connections/shard-count.ts';
import { isId } from '../domain.ts';
import { withStores } from '../processes/with-stores.ts';

const usage = 'Usage: node dist/service/bin/audit.js VOUCHER_ID [--json]';
const options = { json: { type: 'boolean', default: false } } as const;
const exitCodes = { held: 0, violated: 1, unknown: 2 } as const;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [voucherId = '', ...more] = positionals;
  if (!isId(voucherId) || more.length > 0) throw new TypeError(usage);
  const audited = await withStores(readConfig(), async (opened) => {
    await refuseOtherShards(opened);
    return auditInParts(opened, voucherId);
  });
  if (values.json) console.log(JSON.stringify(audited));
  else console.log(audited ? auditText(audited) : `There is no voucher ${voucherId}.`);
  return audited ? exitCodes[audited.verdict] : exitCodes.unknown;
}

process.exitCode = await main().catch((error: unknown) => {
  console.error(String(error));
  return exitCodes.unknown;
});
