/** The tables of runs and races. */
import { verdictText } from '../../texts/texts.ts';
import { serialPairs } from '../drills/demo-plan.ts';
import type { RunResult } from '../drills/run-rung.ts';
import type { RaceResult } from '../play/race-verdict.ts';
import type { Bilingual, Table } from '../stage/result.ts';
import { type Block, type Column, tableOf } from '../stage/table.ts';

export const mark = (asClaimed: boolean): string => (asClaimed ? '✓' : '✗');

/** With `*` behind Node's own cluster. */
export const instancesMark = ({ instances, balancer }: RunResult): string =>
  `${instances}${balancer === 'cluster' ? '*' : ''}`;

const first: readonly Column<RunResult>[] = [
  [{ en: 'rung', zh: '方案' }, ({ rung }) => rung],
  [{ en: 'on', zh: '实例' }, instancesMark],
];
const rates: readonly Column<RunResult>[] = [
  [{ en: 'orders/s', zh: '订单/秒' }, ({ ordersPerSecond }) => ordersPerSecond],
  ['p50', ({ latencyMs }) => latencyMs.p50],
  ['p99', ({ latencyMs }) => latencyMs.p99],
];

const runColumns: readonly Column<RunResult>[] = [
  ...first,
  [
    { en: 'yes/no/?', zh: '是/否/?' },
    ({ attempts: { accepted, refused, unknown } }) => `${accepted}/${refused}/${unknown}`,
  ],
  [{ en: 'sold', zh: '卖出' }, ({ orders }) => orders],
  [{ en: 'left', zh: '剩余' }, ({ stockLeft }) => stockLeft],
  [{ en: 'over', zh: '超卖' }, ({ oversoldBy }) => oversoldBy],
  [{ en: 'twice', zh: '重复' }, ({ usersWithTwoOrders }) => usersWithTwoOrders],
  [{ en: 'verdict', zh: '结果' }, ({ verdict }) => verdictText(verdict)],
  [{ en: 'ok', zh: '一致' }, ({ asClaimed }) => mark(asClaimed)],
];

const runLegend = {
  on: {
    en: 'instances behind nginx; with * behind Node’s own cluster',
    zh: 'nginx 后面的实例数；带 * 是 Node 自己的 cluster',
  },
  'yes/no/?': {
    en: 'attempts that were accepted / refused / of unknown outcome',
    zh: '受理 / 拒绝 / 结果未知的请求数',
  },
  over: { en: 'orders beyond the stock', zh: '超过库存的订单数' },
  twice: { en: 'users with more than one order', zh: '有多个订单的用户数' },
  verdict: {
    en: 'of the audit, from MySQL, Redis and the answers to clients',
    zh: '审计的结果，依据 MySQL、Redis 和给客户端的响应',
  },
  ok: {
    en: '✓ the verdict is what the ladder claims, ✗ it is not',
    zh: '✓ 与预期一致，✗ 不一致',
  },
};

/** The sales, and the audit's verdict on them. */
export const runTable = (results: readonly RunResult[]): Table =>
  tableOf('', results, runColumns, { legend: runLegend });

const costColumns: readonly Column<RunResult>[] = [
  ...first,
  ...rates,
  [{ en: 'lost', zh: '冲突' }, ({ refusedBecause }) => refusedBecause['conflict'] ?? 0],
  [{ en: 'retried', zh: '重试' }, ({ retried }) => retried],
];

const costLegend = {
  'orders/s': { en: 'orders recorded per second', zh: '每秒入库的订单数' },
  p50: { en: 'answer times in ms, and p99', zh: '响应时间，单位 ms；p99 也是' },
  lost: {
    en: 'refused because another buyer was faster, although stock was left',
    zh: '还有库存，但别的买家先改了那一行，因而被拒绝',
  },
  retried: {
    en: 'retries of the accepted attempts; an optimistic rung runs twice: without retries, then with up to 20',
    zh: '被受理的请求重试的次数；乐观锁的方案跑两遍：先不重试，再最多重试 20 次',
  },
};

/** The cost of each run. */
export const costTable = (results: readonly RunResult[]): Table =>
  tableOf('', results, costColumns, { legend: costLegend });

/** The cost of serial sales: each rung beside one that does the same concurrently. */
export function serialBlocks(results: readonly RunResult[]): Block[] {
  const rate = (wanted: string) =>
    results.find(({ rung }) => rung === wanted)?.ordersPerSecond ?? Number.NaN;
  const slower = ({ rung, ordersPerSecond }: RunResult): Bilingual | string => {
    const pair = serialPairs.find(({ serial }) => serial === rung);
    if (!pair) return '';
    const times = (rate(pair.beside) / ordersPerSecond).toFixed(1);
    return { en: `${times} × slower`, zh: `慢 ${times} 倍` };
  };
  const [{ users, workMs } = { users: 0, workMs: 0 }] = results;
  return [
    tableOf('', results, [
      ...first,
      ...rates,
      [{ en: 'cost of serial', zh: '串行的代价' }, slower],
    ]),
    {
      en: `${users} different users at once, one request each, stock for all, ${workMs} ms of work`,
      zh: `${users} 个不同的用户同时抢，每人一个请求，库存够所有人，每次下单用 ${workMs} ms`,
    },
  ];
}

/** Each race, on the rung with the bug and on the next rung. */
export const raceTable = (results: readonly RaceResult[]): Table =>
  tableOf(
    '',
    results,
    [
      ['race', ({ race }) => race],
      ['rung', ({ rung }) => rung],
      ['verdict', ({ verdict }) => verdict],
      ['ok', ({ asClaimed }) => mark(asClaimed)],
    ],
    { textColumns: 2 },
  );

/** All tables of a demo: sales, cost, and serial beside concurrent sales. */
export const demoTables = (
  results: readonly RunResult[],
  serial: readonly RunResult[],
): Block[] => [
  runTable(results),
  costTable(results),
  ...(serial.length > 0 ? serialBlocks(serial) : []),
];
