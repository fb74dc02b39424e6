/** The report of `bench`: a purchase beside requests that do less, and the cores for a million. */
import type { Table } from '../stage/result.ts';
import { type Block, type Column, tableOf } from '../stage/table.ts';
import type { CpuRole } from './cpu-by-role.ts';
import {
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

const names: Readonly<Record<RequestName, string>> = {
  nginx: 'nginx alone',
  node: 'bare node:http',
  bare: 'bare Hono',
  noop: 'no-op with token',
  purchase: 'purchase, accepted',
  'sold-out': 'purchase, sold out',
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
type NamedFigures = readonly [name: string, figures: RequestFigures];

const rowsOf = (requests: Requests): NamedFigures[] =>
  (Object.keys(names) as RequestName[]).map((name) => [names[name], requests[name]]);

function speedTable(requests: Requests): Table {
  const bare = requests.bare.requestsPerSecond.median;
  return tableOf('', rowsOf(requests), [
    ['POST', ([name]) => name],
    ['requests/s', ([, { requestsPerSecond }]) => medianText(requestsPerSecond)],
    ['least..most', ([, { requestsPerSecond }]) => rangeText(requestsPerSecond)],
    ['÷ bare', ([, { requestsPerSecond }]) => (requestsPerSecond.median / bare).toFixed(2)],
    ['p50 ms', ([, { p50Ms }]) => medianText(p50Ms, 1)],
    ['p99 ms', ([, { p99Ms }]) => medianText(p99Ms, 1)],
    ['least..most', ([, { p99Ms }]) => rangeText(p99Ms)],
  ]);
}

const cpuTable = (requests: Requests): Table =>
  tableOf('CPU microseconds per request, by process (kernel accounting)', rowsOf(requests), [
    ['POST', ([name]) => name],
    ...cpuColumns.map(
      (role): Column<NamedFigures> => [role, ([, { cpu }]) => medianText(cpu[role], 1)],
    ),
    ['sum', ([, { cpu }]) => sumText(servers.map((role) => cpu[role]))],
  ]);

function reachableText(requests: Requests): string {
  const ratio = reachableRatio(requests)?.toFixed(2) ?? '?';
  return `reachable: at best ${ratio} × bare Hono on this machine, since Redis, worker and
database use the same cores`;
}

/** From CPU time to cores. What has one thread, as a Redis has, cannot use more than one. */
function capacityTable({ cpu }: RequestFigures): Table {
  const cores = (perSecond: number) => (time: number) =>
    ((time * perSecond) / 1e6).toFixed(perSecond > 1e5 ? 0 : 1);
  const rows: readonly (readonly [name: string, cell: (microseconds: number) => string])[] = [
    ['purchases/s of one core', (time) => Math.round(1e6 / time).toString()],
    ['cores for 100,000/s', cores(1e5)],
    ['cores for 1,000,000/s', cores(1e6)],
  ];
  const column = (role: CpuRole): Column<(typeof rows)[number]> => [
    role,
    ([, cell]) => (cpu[role] ? cell(cpu[role].median) : '?'),
  ];
  const roles = servers.filter((role) => role !== 'others').map(column);
  return tableOf('', rows, [['capacity: cores at 100 %', ([name]) => name], ...roles]);
}

function workerText({ recordedPerSecond, lagMs, deepest }: PurchaseBenchmark['worker']): string {
  const recorded = `${recordedPerSecond.median.toFixed(0)} orders recorded/s`;
  const lag = `${lagMs.median.toFixed(0)} ms after the load`;
  return [
    `worker: ${recorded} (${rangeText(recordedPerSecond)})`,
    `lag: ${lag} (${rangeText(lagMs)}); at most ${deepest} orders queued`,
  ].join('\n');
}
