/**
 * `ended-sales` for a deployment: with the environment of the service, and without the lab. Exit
 * codes: 0 done, 1 some sales were kept because orders wait, 2 not done.
 */
import { parseArgs } from 'node:util';
import { endedSalesText, removeEndedSales } from '../orders/ended-sales.ts';
import { withDeployment } from '../processes/with-stores.ts';

const usage = 'Usage: node dist/service/bin/ended-sales.js [--days DAYS] [--json]';
const options = {
  days: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const { days, json } = values;
  if (positionals.length > 0 || !/^\d{1,4}$/.test(days ?? '0')) throw new TypeError(usage);
  const ended = await withDeployment((opened) => {
    const { ENDED_SALE_DAYS } = opened.config;
    if (days === undefined && ENDED_SALE_DAYS === 0)
      throw new RangeError('ENDED_SALE_DAYS is 0, which means never: name the --days');
    return removeEndedSales(opened, days === undefined ? ENDED_SALE_DAYS : Number(days));
  });
  console.log(json ? JSON.stringify(ended, null, 2) : endedSalesText(ended));
  return ended.waiting.length > 0 ? 1 : 0;
}

process.exitCode = await main().catch((error: unknown) => {
  console.error(String(error));
  return 2;
});
