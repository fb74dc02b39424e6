/** The demo's output: one result at a time, for an 80-column terminal. */

import { type StoryName, story, storyNames } from '../../service/ladder/story.ts';
import { type Language, texts, verdictText } from '../../texts/texts.ts';
import type { defaults } from '../drills/demo-plan.ts';
import type { Run, RunResult } from '../drills/run-rung.ts';
import type { OrdersOfRung } from '../play/all-orders.ts';
import type { RaceResult } from '../play/race-verdict.ts';
import { evidenceIn, type Table } from '../stage/result.ts';
import { type Column, cellText, tableOf } from '../stage/table.ts';
import { instancesMark } from './run-tables.ts';
import { failedFindings } from './sentences.ts';
import { lineOf, tableText } from './table.ts';
import { verdictWords } from './verdict-words.ts';
import { columns, wrap } from './wrap.ts';

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
  follows: (more: number, page: string) =>
    `These four are the point. The whole ladder follows: ${more} more runs, interleavings and races. Ctrl-C ends it and keeps what was seen: ${page}`,
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
  follows: (more, page) =>
    `重点就是这四行。接下来是全部方案：还有 ${more} 次抢购、执行顺序和竞态。按 Ctrl-C 结束，已有的结果会保留：${page}`,
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
    textColumns: 1,
    endsInText: true,
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

type Shape = Pick<RunResult, 'rung' | 'instances' | 'balancer' | 'retries'>;

/** The line of the story, the headline, that this run tells, if any. */
export const storyOf = ({ rung, instances, balancer, retries }: Shape): StoryName | undefined =>
  storyNames.find(
    (name) =>
      story[name].rung === rung &&
      story[name].instances === instances &&
      balancer === 'nginx' &&
      retries === 0,
  );

type StoryRow = readonly [name: StoryName, result: RunResult];

const storyColumns: readonly Column<StoryRow>[] = [
  ['', ([name]) => ({ en: texts.en.story[name].title, zh: texts.zh.story[name].title })],
  [{ en: 'sold', zh: '卖出' }, ([, { orders }]) => orders, 5],
  [
    { en: 'users with two orders', zh: '有两单的用户' },
    ([, { usersWithTwoOrders }]) => usersWithTwoOrders,
    22,
  ],
  [{ en: 'verdict', zh: '结果' }, ([, { verdict }]) => verdictText(verdict)],
];
const layout = { textColumns: 1, endsInText: true } as const;

const tableOfStory = (rows: readonly StoryRow[]): Table => tableOf('', rows, storyColumns, layout);

/** What the README shows first: the rows whose runs are there. */
export const headlineTable = (results: readonly RunResult[]): Table =>
  tableOfStory(
    storyNames.flatMap((name): StoryRow[] => {
      const result = results.find((each) => storyOf(each) === name);
      return result ? [[name, result]] : [];
    }),
  );

/** One line of it, before the others are known. */
function lineOfStory(cells: Table['head'] | Table['rows'][number], language: Language): string {
  const titles = storyNames.map((name) => columns(texts[language].story[name].title));
  const widths = [Math.max(...titles), ...(tableOfStory([]).widths ?? []).slice(1)];
  return lineOf(
    cells.map((cell) => cellText(language, cell)),
    widths,
    layout,
  );
}

export const storyHead = (language: Language): string =>
  lineOfStory(tableOfStory([]).head, language);

/** Its line, and below it why: the story's sentence, or what the audit found instead. */
export function storyLine(name: StoryName, run: Run, language: Language): string {
  const [cells = []] = tableOfStory([[name, run.result]]).rows;
  const { meaning } = texts[language].story[name];
  const claim = verdictWords[language].notClaimed(run.claim.verdict);
  const why = run.result.asClaimed
    ? [wrap(`    ${meaning}`, 79, '    ')]
    : [`    ${claim}`, ...failedFindings(run, language)];
  return [lineOfStory(cells, language), ...why].join('\n');
}

/** What follows the story, and where to see it. */
export function storyEnd(more: number, folder: string, language: Language): string {
  const follows = words[language].follows(more, `${folder}/index.html`);
  return `
${wrap(follows, 79, '')}`;
}
