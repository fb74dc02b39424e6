/** The demo's output: one result at a time, for an 80-column terminal. */
import { type Language, texts } from '../../texts/texts.ts';
import type { defaults } from '../drills/demo-plan.ts';
import type { Run, RunResult } from '../drills/run-rung.ts';
import type { OrdersOfRung } from '../play/all-orders.ts';
import type { RaceResult } from '../play/race-verdict.ts';
import { failedFindings } from './sentences.ts';
import { headlineTable } from './story-lines.ts';
import { atRight, padded, verdictWords } from './verdict-words.ts';
import { wrap } from './wrap.ts';

type Rush = typeof defaults;

interface DemoWords {
  readonly rush: (rush: Rush) => string;
  readonly head: readonly string[];
  readonly legend: string;
  readonly orders: string;
  readonly races: string;
}

const en: DemoWords = {
  rush: ({ users, stock, requestsPerEagerUser, workMs }) =>
    `Every rush: ${users} users want ${stock} vouchers. Every tenth user is eager and sends ${requestsPerEagerUser} requests at once; each sale works ${workMs} ms between its check and its write.`,
  head: ['', 'rung', 'on', 'sold', 'twice', 'verdict', ''],
  legend: `on     instances behind nginx; with * behind Node's own cluster
sold   with ! more than the stock      twice  users with two orders
✓ the verdict is what the ladder claims, ✗ it is not`,
  orders: `Two buyers in two processes, in every interleaving of their steps:
how many interleavings break a promise, and one that does.
Play it: npx lockstep race --choices ABAB --rung …`,
  races: 'Races, step by step: on the rung with the bug, then on the next, which mends it',
};

const zh: DemoWords = {
  rush: ({ users, stock, requestsPerEagerUser, workMs }) =>
    `每次抢购：${users} 个用户抢 ${stock} 张券。每十个用户里有一个性急，同时发 ${requestsPerEagerUser} 个请求；每次下单在检查和写入之间用 ${workMs} ms。`,
  head: ['', '方案', '实例', '卖出', '重复', '结果', ''],
  legend: `实例   nginx 后面的实例数；带 * 是 Node 自己的 cluster
卖出   带 ! 超过库存      重复   有两个订单的用户数
✓ 与预期一致，✗ 不一致`,
  orders: `两个进程里的两个买家，按每一种先后顺序走他们的步骤：
有多少种顺序打破承诺，以及其中一种。
自己试：npx lockstep race --choices ABAB --rung …`,
  races: '一步一步的竞态：先在有缺陷的方案上，再在修复它的下一个方案上',
};

const words: Readonly<Record<Language, DemoWords>> = { en, zh };

export function demoHead(rush: Rush, language: Language): string {
  const say = words[language];
  return `\n${wrap(say.rush(rush), 79, '')}\n\n${say.legend}\n\n${line(say.head)}`;
}

const widths = [2, 27, 4, 5, 6];

/** Cells in columns; numbers to the right. */
function line(cells: readonly string[]): string {
  const inColumns = cells.map((cell, index) => {
    const width = widths[index];
    if (width === undefined) return cell;
    return index < 2 ? padded(cell, width) : atRight(cell, width);
  });
  return inColumns.slice(0, 5).join('') + ['', ...inColumns.slice(5)].join('  ').trimEnd();
}

/** One line for a run, and below it the lesson when the rung is a new one. */
export function runLines(
  run: Run,
  before: Run | undefined,
  chapter: number,
  language: Language,
): string {
  const { rung, retries, stock, orders, usersWithTwoOrders, verdict, asClaimed } = run.result;
  const isNew = before?.result.rung !== rung;
  const name = retries > 0 ? `  with ${retries} retries` : rung;
  const result = line([
    isNew ? String(chapter) : '',
    isNew ? name : name.replace(rung, ''),
    on(run.result),
    `${orders}${orders > stock ? '!' : ''}`,
    String(usersWithTwoOrders),
    verdictWords[language].verdicts[verdict],
    asClaimed ? '✓' : `✗ claim: ${run.claim.verdict}`,
  ]);
  const lesson = isNew ? [wrap(`    ${texts[language].rungs[rung].lesson}`, 79, '    ')] : [];
  return [result, ...lesson, ...(asClaimed ? [] : failedFindings(run))].join('\n');
}

const on = ({ instances, balancer }: RunResult): string =>
  `${instances}${balancer === 'cluster' ? '*' : ''}`;

export const ordersHead = (language: Language): string => `\n${words[language].orders}\n`;
export const racesHead = (language: Language): string => `\n${words[language].races}\n`;

/** `mutex-per-user  12 of 20 orders ✓  AABBAB` */
export function ordersLine({ rung, orders, broken, verdict, asClaimed }: OrdersOfRung): string {
  if (verdict === 'unknown')
    return `${rung.padEnd(27)}        ? its interleavings could not be played`;
  const count = `${broken.length} of ${orders}`.padStart(8);
  const mark = asClaimed ? '✓' : '✗ not as claimed';
  return `${rung.padEnd(27)} ${count} ${mark}  ${broken[0] ?? ''}`.trimEnd();
}

/** `lost-update  read-then-write  violated ✓  2 orders for 1 in stock` */
export function raceLine({
  race,
  rung,
  verdict,
  asClaimed,
  claim,
  evidence: text,
}: RaceResult): string {
  const mark = asClaimed ? '✓' : `✗ claim: ${claim}`;
  const result = `${race.padEnd(25)} ${rung.padEnd(26)} ${verdict.padEnd(8)} ${mark}`;
  return text === '' ? result : `${result}\n${wrap(`    ${text}`, 79, '    ')}`;
}

/** How the demo ended, or how far it came. */
export function headline(
  runs: readonly RunResult[],
  all: readonly { asClaimed: boolean }[],
  { folder, planned, language }: { folder: string; planned: number; language: Language },
): string {
  const count = all.filter(({ asClaimed }) => asClaimed).length;
  const stopped =
    all.length < planned ? `Stopped early: ${all.length} of ${planned} were played. ` : '';
  return `
${headlineTable(runs, language)}

${wrap(`${stopped}${count} of ${all.length} runs, interleavings and races ended as the ladder claims. Report: ${folder}/index.html`)}`;
}
