/** The report of `bench`: a purchase beside requests that do less, and the cores for a million. */
import type { Bilingual, Table, Text } from '../stage/result.ts';
import { type Block, type Column, tableOf } from '../stage/table.ts';
import type { CpuRole } from './cpu-by-role.ts';
import {
  cpuTitle,
  faultsText,
  medianText,
  rangeText,
  roundsText,
  sumText,
  targetsTable,
} from './figure-text.ts';
import {
  type PurchaseBenchmark,
  type RequestFigures,
  type RequestName,
  reachableRatio,
} from './purchase-benchmark.ts';

const names: Readonly<Record<RequestName, Bilingual>> = {
  nginx: { en: 'nginx alone', zh: '只有 nginx' },
  node: { en: 'bare node:http', zh: '裸 node:http' },
  bare: { en: 'bare Hono', zh: '裸 Hono' },
  noop: { en: 'no-op with token', zh: '验证令牌的空操作' },
  purchase: { en: 'purchase, accepted', zh: '下单，受理' },
  'sold-out': { en: 'purchase, sold out', zh: '下单，已售罄' },
};

/** In the order in which a request meets them. */
const cpuColumns = ['load', 'nginx', 'api', 'redis', 'worker', 'database', 'others'] as const;

/** Without the load generator, which a customer's own machine pays for. */
const servers = cpuColumns.filter((role) => role !== 'load');

export const purchaseReport = (result: PurchaseBenchmark): Block[] => [
  speedTable(result.requests),
  cpuTable(result.requests),
  reachableText(result.requests),
  capacityTable(result.requests.purchase),
  workerText(result.worker),
  ...targetsTable(result.targets),
  roundsText(result),
  faultsText(result),
];

type Requests = PurchaseBenchmark['requests'];
type NamedFigures = readonly [name: Bilingual, figures: RequestFigures];

const rowsOf = (requests: Requests): NamedFigures[] =>
  (Object.keys(names) as RequestName[]).map((name) => [names[name], requests[name]]);

function speedTable(requests: Requests): Table {
  const bare = requests.bare.requestsPerSecond.median;
  return tableOf('', rowsOf(requests), [
    ['POST', ([name]) => name],
    [
      { en: 'requests/s', zh: '请求/秒' },
      ([, { requestsPerSecond }]) => medianText(requestsPerSecond),
    ],
    [
      { en: 'least..most', zh: '最低..最高' },
      ([, { requestsPerSecond }]) => rangeText(requestsPerSecond),
    ],
    [
      { en: '÷ bare', zh: '÷ 裸 Hono' },
      ([, { requestsPerSecond }]) => (requestsPerSecond.median / bare).toFixed(2),
    ],
    ['p50 ms', ([, { p50Ms }]) => medianText(p50Ms, 1)],
    ['p99 ms', ([, { p99Ms }]) => medianText(p99Ms, 1)],
    [{ en: 'least..most', zh: '最低..最高' }, ([, { p99Ms }]) => rangeText(p99Ms)],
  ]);
}

const cpuTable = (requests: Requests): Table =>
  tableOf(cpuTitle, rowsOf(requests), [
    ['POST', ([name]) => name],
    ...cpuColumns.map(
      (role): Column<NamedFigures> => [role, ([, { cpu }]) => medianText(cpu[role], 1)],
    ),
    [{ en: 'sum', zh: '合计' }, ([, { cpu }]) => sumText(servers.map((role) => cpu[role]))],
  ]);

function reachableText(requests: Requests): Bilingual {
  const ratio = reachableRatio(requests)?.toFixed(2) ?? '?';
  return {
    en: `reachable: at best ${ratio} × bare Hono on this machine, since Redis, worker and
database use the same cores`,
    zh: `在这台机器上最多能达到裸 Hono 的 ${ratio} 倍：Redis、消费者和数据库用的是同样的核`,
  };
}

/** From CPU time to cores. What has one thread, as a Redis has, cannot use more than one. */
function capacityTable({ cpu }: RequestFigures): Table {
  const cores = (perSecond: number) => (time: number) =>
    ((time * perSecond) / 1e6).toFixed(perSecond > 1e5 ? 0 : 1);
  const rows: readonly (readonly [name: Text, cell: (microseconds: number) => string])[] = [
    [
      { en: 'purchases/s of one core', zh: '一个核每秒下单' },
      (time) => Math.round(1e6 / time).toString(),
    ],
    [{ en: 'cores for 100,000/s', zh: '每秒 100,000 单要几核' }, cores(1e5)],
    [{ en: 'cores for 1,000,000/s', zh: '每秒 1,000,000 单要几核' }, cores(1e6)],
  ];
  const column = (role: CpuRole): Column<(typeof rows)[number]> => [
    role,
    ([, cell]) => (cpu[role] ? cell(cpu[role].median) : '?'),
  ];
  const roles = servers.filter((role) => role !== 'others').map(column);
  return tableOf('', rows, [
    [{ en: 'capacity: cores at 100 %', zh: '容量：核用满时' }, ([name]) => name],
    ...roles,
  ]);
}

function workerText({ recordedPerSecond, lagMs, deepest }: PurchaseBenchmark['worker']): Bilingual {
  const [recorded, lag] = [recordedPerSecond.median.toFixed(0), lagMs.median.toFixed(0)];
  const [recordedRange, lagRange] = [rangeText(recordedPerSecond), rangeText(lagMs)];
  return {
    en: `worker: ${recorded} orders recorded/s (${recordedRange})
lag: ${lag} ms after the load (${lagRange}); at most ${deepest} orders queued`,
    zh: `消费者：每秒入库 ${recorded} 单（${recordedRange}）
延迟：压测结束后 ${lag} ms（${lagRange}）；队列里最多 ${deepest} 单`,
  };
}
