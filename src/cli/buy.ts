import { randomUUID } from 'node:crypto';
import { Agent } from 'undici';
import { Lab } from '../lab/environment/lab.ts';
import { labError } from '../lab/errors.ts';
import { buyOnce } from '../lab/workload/buy-once.ts';
import type { Attempt } from '../service/audit/facts.ts';
import { readHistory } from '../service/audit/read-history.ts';
import { labTokenSecret } from '../service/config.ts';
import { Id } from '../service/http/ids.ts';
import { signToken } from '../service/http/tokens.ts';
import type { HistoryEvent } from '../service/trace/history.ts';
import { json, pause } from './options.ts';
import {
  type AddCommand,
  type Answer,
  type JsonOption,
  print,
  setExitCode,
  type WorkFolders,
} from './output.ts';

interface BuyOptions extends JsonOption {
  readonly user: string;
  readonly pause?: readonly string[];
  readonly key?: string;
}

export const addBuy: AddCommand = (program, folders) =>
  program
    .command('buy')
    .description('buy a voucher of the running lab, as one user would')
    .argument('<voucher>', 'the voucher’s id')
    .requiredOption('--user <id>', 'the user who buys')
    .option('--key <text>', 'the idempotency key of the request; a new one without it')
    .option('--pause <where>', 'pause the request, as a debugger would: after-check:1:20000', pause)
    .addOption(json())
    .action((voucherId: string, options: BuyOptions) => buy(folders, voucherId, options));

async function buy(
  { labFolder }: WorkFolders,
  voucherId: string,
  options: BuyOptions,
): Promise<void> {
  const { user, pause: pauses = [], key = randomUUID(), json } = options;
  for (const id of [voucherId, user])
    if (!Id.safeParse(id).success) throw labError('INVALID_ID', id);
  const lab = Lab.running(labFolder);
  if (!lab) throw labError('LAB_DOWN');
  const agent = new Agent({ headersTimeout: 120_000 });
  const url = `${lab.baseUrl}/vouchers/${voucherId}/orders`;
  const token = await signToken(labTokenSecret, user, 'user');
  const headers = pauses.length > 0 ? { 'x-lab-pauses': pauses.join(',') } : {};
  const attempt = await buyOnce(agent, url, { userId: user, requestId: key }, token, headers);
  await agent.close();
  const { history } = readHistory(lab.historyFolder, voucherId);
  const missed = pauses.filter((pause) => !isReached(pause, key, history));
  const notes = missed.map((pause) => `pause ${pause}: this purchase did NOT stop there`);
  print(json, { ...attempt, missedPauses: missed }, () => [text(attempt), ...notes].join('\n'));
  setExitCode(missed.length > 0 ? ['unknown'] : [answers[attempt.outcome]]);
}

/** Not when the rung has no such place, or another purchase was the n-th that came to it. */
const isReached = (pause: string, key: string, history: readonly HistoryEvent[]): boolean =>
  history.some(
    ({ event, requestId, reason }) => event === 'paused' && requestId === key && reason === pause,
  );

const answers: Record<Attempt['outcome'], Answer> = {
  accepted: 'yes',
  refused: 'no',
  unknown: 'unknown',
};

function text({ outcome, orderId, reason, instance, userId }: Attempt): string {
  const detail =
    outcome === 'accepted'
      ? `order ${orderId}`
      : `${reason}${orderId ? ` (order ${orderId})` : ''}`;
  return `${outcome}: user ${userId}, ${detail}, answered by ${instance}`;
}
