/** `voucher` and `buy`: a sale of the running lab, by hand. */
import { randomUUID } from 'node:crypto';
import { Agent } from 'undici';
import { z } from 'zod';
import { json, knownId, pauses, rung, stockOption, workMsOption } from '../lab/commands/options.ts';
import { commandRow } from '../lab/commands/row.ts';
import { runningLab } from '../lab/environment/lab-connections.ts';
import type { Answer } from '../lab/stage/result.ts';
import { buyOnce } from '../lab/workload/buy-once.ts';
import { putOnSale } from '../lab/workload/create-voucher.ts';
import type { Attempt } from '../service/audit/facts.ts';
import { readHistory } from '../service/audit/read-history.ts';
import { labTokenSecret } from '../service/config.ts';
import { bucketsMax } from '../service/domain.ts';
import { signToken } from '../service/http/tokens.ts';
import { wholeNumber } from '../service/operate/words.ts';
import type { HistoryEvent } from '../service/trace/history.ts';
import { command } from './command.ts';
import { print, setExitCode } from './output.ts';

const daySeconds = 86_400;

const voucherRow = commandRow({
  name: 'voucher',
  about: {
    en: 'put a voucher on sale in the running lab, to buy it by hand',
    zh: '在运行中的实验环境里上架一张券，用来手动购买',
  },
  arguments: { rung },
  options: {
    stock: stockOption(10),
    workMs: workMsOption(0),
    buckets: {
      schema: wholeNumber(1, bucketsMax).optional(),
      en: 'of lua-buckets: how many share the stock',
      zh: 'lua-buckets 用：库存分成几个桶',
    },
    beginsIn: {
      schema: wholeNumber(0, daySeconds).optional(),
      value: '<seconds>',
      en: 'when the sale begins; it has begun without it',
      zh: '几秒后开抢；不写就是已经开抢',
    },
    endsIn: {
      schema: wholeNumber(0, daySeconds).optional(),
      value: '<seconds>',
      en: 'when the sale ends; in two hours without it',
      zh: '几秒后结束；不写就是两小时后',
    },
    json,
  },
});

export const addVoucher = command(voucherRow, async ({ labFolder }, given) => {
  const { rung, stock, workMs, buckets, beginsIn, endsIn, json } = given;
  const lab = runningLab(labFolder);
  const split = buckets !== undefined && { buckets };
  const window = {
    ...(beginsIn !== undefined && { beginsInMs: beginsIn * 1_000 }),
    ...(endsIn !== undefined && { endsInMs: endsIn * 1_000 }),
  };
  const sale = { title: 'by hand', stock, rung, ...split, ...window, lab: { workMs } };
  const id = await putOnSale(lab.baseUrl, labTokenSecret, lab.shape.instances, sale);
  const inBuckets = split ? ` in ${buckets} buckets` : '';
  const text = `voucher ${id}: ${stock} in stock${inBuckets}, sold by ${rung}`;
  print(json, { id, rung, stock, ...split }, () => text);
});

const buyRow = commandRow({
  name: 'buy',
  about: {
    en: 'buy a voucher of the running lab, as one user would',
    zh: '像一个用户那样，买实验环境里的一张券',
  },
  arguments: { voucher: { schema: knownId, en: 'the voucher’s id', zh: '券的 id' } },
  options: {
    user: { schema: knownId, value: '<id>', en: 'the user who buys', zh: '哪个用户买' },
    key: {
      schema: z.string().optional(),
      value: '<text>',
      en: 'the idempotency key of the request; a new one without it',
      zh: '请求的幂等键；不写就用新的',
    },
    pause: {
      schema: pauses.optional(),
      value: '<where>',
      en: 'pause the request, as a debugger would: after-check:1:20000',
      zh: '像断点那样停住请求：after-check:1:20000',
    },
    json,
  },
});

export const addBuy = command(buyRow, async ({ labFolder }, given) => {
  const { voucher: voucherId, user, pause: pauses = [], key = randomUUID(), json } = given;
  const lab = runningLab(labFolder);
  const agent = new Agent({ headersTimeout: 120_000 });
  const url = `${lab.baseUrl}/vouchers/${voucherId}/orders`;
  const token = await signToken(labTokenSecret, user, 'user');
  const headers = pauses.length > 0 ? { 'x-lab-pauses': pauses.join(',') } : {};
  const attempt = await buyOnce(agent, url, { userId: user, requestId: key }, token, headers);
  await agent.close();
  const { history } = readHistory(lab.historyFolder, voucherId);
  const missed = pauses.filter((pause) => !isReached(pause, key, history));
  const notes = missed.map((pause) => `pause ${pause}: this purchase did NOT stop there`);
  print(json, { ...attempt, missedPauses: missed }, () =>
    [attemptText(attempt), ...notes].join('\n'),
  );
  setExitCode(missed.length > 0 ? ['unknown'] : [answers[attempt.outcome]]);
});

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

function attemptText({ outcome, orderId, reason, instance, userId }: Attempt): string {
  const detail =
    outcome === 'accepted'
      ? `order ${orderId}`
      : `${reason}${orderId ? ` (order ${orderId})` : ''}`;
  return `${outcome}: user ${userId}, ${detail}, answered by ${instance}`;
}
