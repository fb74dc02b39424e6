/** The demo's output: one result at a time, for an 80-column terminal. */

import { type Language, texts } from '../../texts/texts.ts';
import type { defaults } from '../drills/demo-plan.ts';
import type { Run, RunResult } from '../drills/run-rung.ts';
import type { OrdersOfRung } from '../play/all-orders.ts';
import type { RaceResult } from '../play/race-verdict.ts';
import { evidenceIn } from '../stage/result.ts';
import { instancesMark } from './run-tables.ts';
import { failedFindings } from './sentences.ts';
import { headlineTable } from './story-lines.ts';
import { lineOf, tableText } from './table.ts';
import { verdictWords } from './verdict-words.ts';
import { wrap } from './wrap.ts';

type Rush = typeof defaults;

const en = {
  rush: ({ users, stock, requestsPerEagerUser, workMs }: Rush) =>
    `Every rush: ${users} users want ${stock} vouchers. Every tenth user is eager and sends ${requestsPerEagerUser} requests at once; each sale works ${workMs} ms between its check and its write.`,
  head: ['', 'rung', 'on', 'sold', 'twice', 'verdict'],
  retries: (count: number) => `  with ${count} retries`,
  legend: `on     instances behind nginx; with * behind Node's own cluster
sold   with ! more than the stock      twice  users with two orders
✓ the verdict is what the ladder claims, ✗ it is not`,
  orders: `Two buyers in two processes, in every interleaving of their steps:
how many interleavings break a promise, and one that does.
Play it: npx lockstep race --choices ABAB --rung …`,
  ordersCount: (broken: number, all: number) => `${broken} of ${all}`,
  ordersUnknown: 'its interleavings could not be played',
  races: 'Races, step by step: on the rung with the bug, then on the next, which mends it',
  stopped: (played: number, planned: number) =>
    `Stopped early: ${played} of ${planned} were played. `,
  asClaimed: (count: number, all: number, page: string) =>
    `${count} of ${all} runs, interleavings and races ended as the ladder claims. Report: ${page}`,
};
type DemoWords = typeof en;

const zh: DemoWords = {
  rush: ({ users, stock, requestsPerEagerUser, workMs }) =>
    `每次抢购：${users} 个用户抢 ${stock} 张券。每十个用户里有一个性急，同时发 ${requestsPerEagerUser} 个请求；每次下单在检查和写入之间用 ${workMs} ms。`,
  head: ['', '方案', '实例', '卖出', '重复', '结果'],
  retries: (count) => `  重试 ${count} 次`,
  legend: `实例   nginx 后面的实例数；带 * 是 Node 自己的 cluster
卖出   带 ! 超过库存      重复   有两个订单的用户数
✓ 与预期一致，✗ 不一致`,
  orders: `两个进程里的两个买家，按每一种先后顺序走他们的步骤：
有多少种顺序打破承诺，以及其中一种。
自己试：npx lockstep race --choices ABAB --rung …`,
  ordersCount: (broken, all) => `${all} 种里 ${broken}`,
  ordersUnknown: '没能走完各种顺序',
  races: '一步一步的竞态：先在有缺陷的方案上，再在修复它的下一个方案上',
  stopped: (played, planned) => `提前结束：计划 ${planned} 次，跑了 ${played} 次。`,
  asClaimed: (count, all, page) =>
    `抢购、执行顺序和竞态共 ${all} 次，${count} 次与预期一致。报告：${page}`,
};

const words: Readonly<Record<Language, DemoWords>> = { en, zh };

export function demoHead(rush: Rush, language: Language): string {
  const say = words[language];
  return `\n${wrap(say.rush(rush), 79, '')}\n\n${say.legend}\n\n${line(say.head)}`;
}

const line = (cells: readonly string[]): string =>
  lineOf(cells, [1, 26, 4, 4, 5], { endsInText: true });

/** One line for a run, and below it the lesson when the rung is a new one. */
export function runLines(
  run: Run,
  before: Run | undefined,
  chapter: number,
  language: Language,
): string {
  const { rung, retries, stock, orders, usersWithTwoOrders, verdict, asClaimed } = run.result;
  const { verdicts, notClaimed } = verdictWords[language];
  const isNew = before?.result.rung !== rung;
  const name = retries > 0 ? words[language].retries(retries) : isNew ? rung : '';
  const result = line([
    isNew ? String(chapter) : '',
    name,
    instancesMark(run.result),
    `${orders}${orders > stock ? '!' : ''}`,
    String(usersWithTwoOrders),
    `${verdicts[verdict]}  ${asClaimed ? '✓' : notClaimed(run.claim.verdict)}`,
  ]);
  const lesson = isNew ? [wrap(`    ${texts[language].rungs[rung].lesson}`, 79, '    ')] : [];
  return [result, ...lesson, ...(asClaimed ? [] : failedFindings(run, language))].join('\n');
}

export const ordersHead = (language: Language): string => `\n${words[language].orders}\n`;
export const racesHead = (language: Language): string => `\n${words[language].races}\n`;

/** `mutex-per-user  12 of 20  ✓  AABBAB` */
export function ordersLine(
  { rung, orders, broken, verdict, asClaimed }: OrdersOfRung,
  language: Language = 'en',
): string {
  const say = words[language];
  const [count, mark] =
    verdict === 'unknown'
      ? ['?', say.ordersUnknown]
      : [
          say.ordersCount(broken.length, orders),
          asClaimed ? '✓' : `✗ ${verdictWords[language].notAsClaimed}`,
        ];
  return lineOf([rung, count, `${mark}  ${broken[0] ?? ''}`], [26, 8], {
    ...{ textColumns: 1, endsInText: true },
  });
}

/** `lost-update  read-then-write  violated ✓  2 orders for 1 in stock` */
export function raceLine(result: RaceResult, language: Language = 'en'): string {
  const { race, rung, verdict, asClaimed, claim } = result;
  const { verdicts, notClaimed } = verdictWords[language];
  const mark = asClaimed ? '✓' : notClaimed(claim);
  const ended = lineOf([race, rung, verdicts[verdict], mark], [25, 26, 8], { textColumns: 4 });
  const text = evidenceIn(language, result);
  return text === '' ? ended : `${ended}\n${wrap(`    ${text}`, 79, '    ')}`;
}

/** How the demo ended, or how far it came. */
export function headline(
  runs: readonly RunResult[],
  all: readonly { asClaimed: boolean }[],
  { folder, planned, language }: { folder: string; planned: number; language: Language },
): string {
  const say = words[language];
  const count = all.filter(({ asClaimed }) => asClaimed).length;
  const stopped = all.length < planned ? say.stopped(all.length, planned) : '';
  const ended = say.asClaimed(count, all.length, `${folder}/index.html`);
  return `\n${tableText(headlineTable(runs), language)}\n\n${wrap(stopped + ended)}`;
}
