/** `voucher` and `buy`: a sale of the running lab, by hand. */
import { randomUUID } from 'node:crypto';
import { Agent } from 'undici';
import { z } from 'zod';
import {
  json,
  knownId,
  language,
  pauses,
  rung,
  stockOption,
  workMsOption,
} from '../lab/commands/options.ts';
import { commandRow } from '../lab/commands/row.ts';
import { runningLab } from '../lab/environment/lab-connections.ts';
import type { Answer } from '../lab/stage/result.ts';
import { buyOnce } from '../lab/workload/buy-once.ts';
import { putOnSale } from '../lab/workload/sale.ts';
import type { Attempt } from '../service/audit/facts.ts';
import { readHistory } from '../service/audit/read-history.ts';
import { labTokenSecret } from '../service/config.ts';
import { bucketsMax } from '../service/domain.ts';
import { signToken } from '../service/http/tokens.ts';
import { wholeNumber } from '../service/operate/words.ts';
import type { HistoryEvent } from '../service/trace/history.ts';
import type { Language } from '../texts/texts.ts';
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
    language,
    json,
  },
});

export const addVoucher = command(voucherRow, async ({ labFolder }, given) => {
  const { rung, stock, workMs, buckets, beginsIn, endsIn, language, json } = given;
  const lab = runningLab(labFolder);
  const split = buckets !== undefined && { buckets };
  const window = {
    ...(beginsIn !== undefined && { beginsInMs: beginsIn * 1_000 }),
    ...(endsIn !== undefined && { endsInMs: endsIn * 1_000 }),
  };
  const sale = { title: 'by hand', stock, rung, ...split, ...window, lab: { workMs } };
  const id = await putOnSale(lab, sale);
  const data = { id, rung, stock, ...split };
  print(json, data, () => saleWords[language].onSale(data));
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
    language,
    json,
  },
});

export const addBuy = command(buyRow, async ({ labFolder }, given) => {
  const { voucher: voucherId, user, pause: pauses = [], key = randomUUID() } = given;
  const { language, json } = given;
  const say = saleWords[language];
  const lab = runningLab(labFolder);
  const agent = new Agent({ headersTimeout: 120_000 });
  const url = `${lab.baseUrl}/vouchers/${voucherId}/orders`;
  const token = await signToken(labTokenSecret, user, 'user');
  const headers = pauses.length > 0 ? { 'x-lab-pauses': pauses.join(',') } : {};
  const attempt = await buyOnce(agent, url, { userId: user, requestId: key }, token, headers);
  await agent.close();
  const { history } = readHistory(lab.historyFolder, voucherId);
  const missed = pauses.filter((pause) => !isReached(pause, key, history));
  print(json, { ...attempt, missedPauses: missed }, () =>
    [attemptText(attempt, language), ...missed.map(say.notPaused)].join('\n'),
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

function attemptText(attempt: Attempt, language: Language): string {
  const { outcome, orderId, reason, instance, userId } = attempt;
  const say = saleWords[language];
  const order = orderId ? say.order(orderId) : '';
  const detail = outcome === 'accepted' ? order : `${reason}${order && say.inBrackets(order)}`;
  return say.answered(outcome, userId, detail, instance);
}

interface NewSale {
  readonly id: string;
  readonly rung: string;
  readonly stock: number;
  readonly buckets?: number;
}

const en = {
  onSale: ({ id, rung, stock, buckets }: NewSale) =>
    `voucher ${id}: ${stock} in stock${buckets ? ` in ${buckets} buckets` : ''}, sold by ${rung}`,
  notPaused: (pause: string) => `pause ${pause}: this purchase did NOT stop there`,
  order: (id: string) => `order ${id}`,
  inBrackets: (text: string) => ` (${text})`,
  answered: (
    outcome: Attempt['outcome'],
    userId: string,
    detail: string,
    instance: string | undefined,
  ) => `${outcome}: user ${userId}, ${detail}, answered by ${instance}`,
};
type SaleWords = typeof en;

const outcomes = { accepted: '已受理', refused: '被拒绝', unknown: '结果未知' } as const;

const zh: SaleWords = {
  onSale: ({ id, rung, stock, buckets }) =>
    `券 ${id}：库存 ${stock}${buckets ? `，分成 ${buckets} 个桶` : ''}，方案 ${rung}`,
  notPaused: (pause) => `暂停 ${pause}：这次下单没有停在那里`,
  order: (id) => `订单 ${id}`,
  inBrackets: (text) => `（${text}）`,
  answered: (outcome, userId, detail, instance) =>
    `${outcomes[outcome]}：用户 ${userId}，${detail}，由 ${instance} 响应`,
};

const saleWords: Readonly<Record<Language, SaleWords>> = { en, zh };
