/**
 * `reconcile` for a deployment: with the environment of the service, and without the lab. Exit
 * codes: 0 consistent, 1 not, 2 could not tell.
 */
import { parseArgs } from 'node:util';
import { readConfig } from '../config.ts';
import { Connections } from '../connections/connections.ts';
import { isId } from '../domain.ts';
import { reconcileExitCodes, runReconcile } from '../orders/reconcile/reconcile-command.ts';
import { openLog } from '../processes/log.ts';

const usage = 'Usage: node dist/bin/reconcile.js [VOUCHER_ID] [--repair | --rebuild] [--json]';
const flag = { type: 'boolean', default: false } as const;
const options = { repair: flag, rebuild: flag, json: flag } as const;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [voucherId, ...more] = positionals;
  const isOfAll = values.rebuild && (values.repair || voucherId !== undefined);
  const isWrong = isOfAll || (voucherId !== undefined && !isId(voucherId));
  if (isWrong || more.length > 0) throw new TypeError(usage);
  const connections = new Connections(readConfig(), openLog('reconcile', 'silent'));
  connections.redis('admin');
  await connections.ready();
  try {
    const { json, ...how } = values;
    const { verdict, data, text } = await runReconcile(connections, { voucherId, ...how });
    console.log(json ? JSON.stringify(data, null, 2) : text);
    return reconcileExitCodes[verdict];
  } finally {
    await connections.close();
  }
}

process.exitCode = await main().catch((error: unknown) => {
  console.error(String(error));
  return 2;
});
