/**
 * `reconcile` for a deployment: with the environment of the service, and without the lab. Exit
 * codes: 0 consistent, 1 not, 2 could not tell.
 */
import { parseArgs } from 'node:util';
import { readConfig } from '../config.ts';
import { isId } from '../domain.ts';
import { reconcileExitCodes, runReconcile } from '../orders/reconcile/reconcile-command.ts';
import { withStores } from '../processes/with-stores.ts';

const usage =
  'Usage: node dist/service/bin/reconcile.js [VOUCHER_ID] [--repair | --rebuild] [--json]';
const flag = { type: 'boolean', default: false } as const;
const options = { repair: flag, rebuild: flag, json: flag } as const;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [voucherId, ...more] = positionals;
  const isOfAll = values.rebuild && (values.repair || voucherId !== undefined);
  const isWrong = isOfAll || (voucherId !== undefined && !isId(voucherId));
  if (isWrong || more.length > 0) throw new TypeError(usage);
  const { json, ...how } = values;
  const { verdict, data, text } = await withStores(readConfig(), (opened) =>
    runReconcile(opened, { voucherId, ...how }),
  );
  console.log(json ? JSON.stringify(data, null, 2) : text);
  return reconcileExitCodes[verdict];
}

process.exitCode = await main().catch((error: unknown) => {
  console.error(String(error));
  return 2;
});
