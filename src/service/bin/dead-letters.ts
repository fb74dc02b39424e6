/**
 * `dead-letters` for a deployment: with the environment of the service, and without the lab. Exit
 * codes: 0 done, 1 some letters were refused, 2 not done.
 */
import { parseArgs } from 'node:util';
import { type LetterAct, letterActs, runDeadLetters } from '../orders/letters-command.ts';
import { withDeployment } from '../processes/with-stores.ts';

const usage =
  'Usage: node dist/service/bin/dead-letters.js list|show|replay|discard [LETTER | --all] ' +
  '[--reason REASON] [--voucher-id ID] [--most N] [--json]';
const options = {
  all: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  reason: { type: 'string' },
  'voucher-id': { type: 'string' },
  most: { type: 'string', default: '100' },
} as const;

const isAct = (text: string): text is LetterAct => letterActs.some((act) => act === text);

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [act = '', letter, ...more] = positionals;
  const most = /^[1-9]\d{0,5}$/.test(values.most) ? Number(values.most) : 0;
  if (!isAct(act) || more.length > 0 || most === 0) throw new TypeError(usage);
  const { all, json, reason, 'voucher-id': voucherId } = values;
  const request = { act, letter, most, all, reason, voucherId };
  const { data, text, isPartial } = await withDeployment((opened) =>
    runDeadLetters(opened, request),
  );
  console.log(json ? JSON.stringify(data, null, 2) : text);
  return isPartial ? 1 : 0;
}

process.exitCode = await main().catch((error: unknown) => {
  console.error(String(error));
  return 2;
});
