/**
 * The cost of a purchase beside requests that do less, in one run and in turns: nginx alone, bare
 * node:http, a bare Hono route, an authenticated no-op, a purchase, and a purchase that is refused
 * as sold out.
 */

import { barePath, nginxAlonePath, nodePath } from '../environment/servers/nginx.ts';
import type { Bilingual, Table, Text } from '../stage/result.ts';
import { type Block, type Column, tableOf } from '../stage/table.ts';
import { withBareService } from './bare-service.ts';
import { byRole, type CpuRole, serverRoles, sumOfKnown, sumOfServers } from './cpu-by-role.ts';
import { faultsOfAnswers, faultsOfSale } from './faults-of-figures.ts';
import {
  cpuTitle,
  faultsText,
  medianText,
  rangeColumn,
  rangeText,
  roundsText,
  sumText,
  targetsTable,
} from './figure-text.ts';
import {
  type Bench,
  conditionsOf,
  type LoadMeasurement,
  type MeasuredSale,
  measurePath,
  measureSale,
  orderPath,
  putVoucherOnSale,
  tellRound,
} from './measure.ts';
import { withScriptBuyer } from './script-buyer.ts';
import {
  type ClosedBenchmarkResult,
  judgeTarget,
  type Spread,
  spreadOf,
  spreadOfKnown,
  type Target,
} from './targets.ts';

const names = {
  nginx: { en: 'nginx alone', zh: '只有 nginx' },
  node: { en: 'bare node:http', zh: '裸 node:http' },
  bare: { en: 'bare Hono', zh: '裸 Hono' },
  noop: { en: 'no-op with token', zh: '验证令牌的空操作' },
  purchase: { en: 'purchase, accepted', zh: '下单，受理' },
  'sold-out': { en: 'purchase, sold out', zh: '下单，已售罄' },
};
export type RequestName = keyof typeof names;
const requestNames = Object.keys(names) as RequestName[];

/** The purchase's own sale is in `sale`. */
export interface Round {
  readonly requests: Readonly<Record<RequestName, LoadMeasurement>>;
  readonly sale: MeasuredSale;
}

export interface RequestFigures {
  readonly requestsPerSecond: Spread;
  readonly p50Ms: Spread;
  readonly p99Ms: Spread;
  /** Microseconds for each request. Null is unknown. */
  readonly cpu: Readonly<Record<CpuRole, Spread | null>>;
}

interface PurchaseBenchmark extends ClosedBenchmarkResult {
  readonly rounds: number;
  /** purchase ÷ bare, in requests per second: the median of the rounds. Null is unknown. */
  readonly ratioToBare: number | null;
  readonly requests: Readonly<Record<RequestName, RequestFigures>>;
  readonly worker: {
    readonly recordedPerSecond: Spread;
    readonly lagMs: Spread;
    readonly deepest: number;
  };
}

const rung = 'lua-stream';

/** Each target with the figure of a round that it is about. */
const targets: readonly [Target, (round: Round) => number | null][] = [
  [
    {
      name: 'purchase ÷ bare, requests/s',
      atLeast: 0.45,
      because: 'the sale itself may cost little more than the HTTP request that carries it',
    },
    ({ requests }) => requests.purchase.requestsPerSecond / requests.bare.requestsPerSecond,
  ],
  [
    {
      name: 'sold-out ÷ bare, requests/s',
      atLeast: 0.75,
      because: 'most requests of a rush are refused, so a refusal must cost nearly nothing',
    },
    ({ requests }) => requests['sold-out'].requestsPerSecond / requests.bare.requestsPerSecond,
  ],
  [
    {
      name: 'purchase ÷ bare, p99',
      atMost: 3,
      because: 'a buyer must not wait long while the average looks good',
    },
    ({ requests }) => requests.purchase.p99Ms / requests.bare.p99Ms,
  ],
  [
    {
      name: 'µs of all servers per purchase',
      atMost: 110,
      because: 'half of what it was on 21 November 2026; two cores then sell 15,000/s',
    },
    ({ requests }) => sumOfServers(requests.purchase.cpu),
  ],
  [
    {
      name: 'lag after the load, ms',
      atMost: 1_000,
      because: 'the workers keep up with full load, so the queue does not grow in a long sale',
    },
    ({ sale }) => sale.lagMs,
  ],
];

export function benchmarkPurchase(bench: Bench): Promise<PurchaseBenchmark> {
  return withBareService(bench.lab.bareUpstreams, async (bare) => {
    const measured: Round[] = [];
    bench.progress({
      en: 'Warming up: one round that does not count …',
      zh: '预热：一轮，不计入结果……',
    });
    await measureRound(bench, bare);
    const { seconds } = bench.load;
    for (let round = 1; round <= bench.rounds; round++) {
      tellRound(bench, round, `${seconds} s for each request`, `每种请求 ${seconds} 秒`);
      measured.push(await measureRound(bench, bare));
    }
    return summarize(bench, measured);
  });
}

async function measureRound(bench: Bench, barePids: readonly number[]): Promise<Round> {
  const bareProcesses = barePids.map((pid) => ({ role: 'api' as const, pid }));
  const nginx = await measurePath(bench, nginxAlonePath);
  const node = await measurePath(bench, nodePath, bareProcesses);
  const bare = await measurePath(bench, barePath, bareProcesses);
  const noop = await measurePath(bench, '/lab/noop');
  const sale = await measureSale(bench, rung);
  const soldOut = await measurePath(bench, orderPath(await soldOutVoucher(bench)));
  const { purchase } = sale;
  return { requests: { nginx, node, bare, noop, purchase, 'sold-out': soldOut }, sale };
}

/** Instances remember its buyers, so it has as many as a large sale. */
const soldOutUnits = 25_000;

/** A voucher that was bought, and recorded, by users who send no other request. */
async function soldOutVoucher(bench: Bench): Promise<string> {
  const voucherId = await putVoucherOnSale(bench, rung, soldOutUnits);
  await withScriptBuyer(bench, rung, voucherId, async (sell) => {
    let sold = 0;
    while (sold < soldOutUnits) {
      const firstUser = bench.load.tokens.count + 1 + sold;
      sold += (await sell(firstUser, soldOutUnits - sold)).users;
    }
  });
  return voucherId;
}

function summarize(bench: Bench, measured: readonly Round[]): PurchaseBenchmark {
  const sales = measured.map(({ sale }) => sale);
  const judged = targets.map(([target, figure]) =>
    judgeTarget(target, spreadOfKnown(measured.map(figure)), bench.rounds),
  );
  const [ratio] = judged;
  return {
    ...conditionsOf(bench),
    ratioToBare: ratio?.measured?.median ?? null,
    requests: figuresByName(measured),
    worker: {
      recordedPerSecond: spreadOf(sales.map(({ recordedPerSecond }) => recordedPerSecond)),
      lagMs: spreadOf(sales.map(({ lagMs }) => lagMs)),
      deepest: Math.max(...sales.map(({ deepest }) => deepest)),
    },
    otherWork: spreadOfKnown(
      measured.flatMap(({ requests }) => requestNames.map((name) => requests[name].otherWork)),
    ),
    targets: judged,
    faults: [...new Set(measured.flatMap((round) => faultsOfRound(round, bench.load.connections)))],
  };
}

export function faultsOfRound({ requests, sale }: Round, connections: number): string[] {
  const others = (['nginx', 'node', 'bare', 'noop'] as const).flatMap((name) =>
    faultsOfAnswers(name, requests[name], 'accepted'),
  );
  const refused = faultsOfAnswers('sold-out', requests['sold-out'], 'sold-out');
  return [...others, ...refused, ...faultsOfSale(rung, sale, connections)];
}

function figuresByName(measured: readonly Round[]): Record<RequestName, RequestFigures> {
  const figuresOf = (name: RequestName) =>
    requestFigures(measured.map(({ requests }) => requests[name]));
  const figures = requestNames.map((name) => [name, figuresOf(name)]);
  return Object.fromEntries(figures) as Record<RequestName, RequestFigures>;
}

export function requestFigures(measured: readonly LoadMeasurement[]): RequestFigures {
  return {
    requestsPerSecond: spreadOf(measured.map(({ requestsPerSecond }) => requestsPerSecond)),
    p50Ms: spreadOf(measured.map(({ p50Ms }) => p50Ms)),
    p99Ms: spreadOf(measured.map(({ p99Ms }) => p99Ms)),
    cpu: byRole((role) => spreadOfKnown(measured.map(({ cpu }) => cpu[role]))),
  };
}

/**
 * purchase ÷ bare for a purchase whose load, nginx and API cost no more than those of bare Hono.
 * All cores are busy, so a rate is one divided by the CPU time of a request. Null is unknown.
 */
export function reachableRatio({
  bare,
  purchase,
}: Readonly<Record<'bare' | 'purchase', Pick<RequestFigures, 'cpu'>>>): number | null {
  const sum = ({ cpu }: Pick<RequestFigures, 'cpu'>, roles: readonly CpuRole[]) =>
    sumOfKnown(roles.map((role) => cpu[role]?.median ?? null));
  const http = sum(bare, ['load', 'nginx', 'api']);
  const rest = sum(purchase, ['redis', 'worker', 'database']);
  return http === null || rest === null || http + rest === 0 ? null : http / (http + rest);
}

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
  requestNames.map((name) => [names[name], requests[name]]);

function speedTable(requests: Requests): Table {
  const bare = requests.bare.requestsPerSecond.median;
  return tableOf('', rowsOf(requests), [
    ['POST', ([name]) => name],
    [
      { en: 'requests/s', zh: '请求/秒' },
      ([, { requestsPerSecond }]) => medianText(requestsPerSecond),
    ],
    rangeColumn(([, { requestsPerSecond }]) => requestsPerSecond),
    [
      { en: '÷ bare', zh: '÷ 裸 Hono' },
      ([, { requestsPerSecond }]) => (requestsPerSecond.median / bare).toFixed(2),
    ],
    ['p50 ms', ([, { p50Ms }]) => medianText(p50Ms, 1)],
    ['p99 ms', ([, { p99Ms }]) => medianText(p99Ms, 1)],
    rangeColumn(([, { p99Ms }]) => p99Ms),
  ]);
}

const cpuTable = (requests: Requests): Table =>
  tableOf(cpuTitle, rowsOf(requests), [
    ['POST', ([name]) => name],
    ...(['load', ...serverRoles] as const).map(
      (role): Column<NamedFigures> => [role, ([, { cpu }]) => medianText(cpu[role], 1)],
    ),
    [{ en: 'sum', zh: '合计' }, ([, { cpu }]) => sumText(serverRoles.map((role) => cpu[role]))],
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
  const roles = serverRoles.filter((role) => role !== 'others').map(column);
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
