/** The figures of `bench`, for an 80-column terminal. */
import type { CpuRole } from '../benchmarks/cpu-by-role.ts';
import type { Growth } from '../benchmarks/growth-benchmark.ts';
import {
  type PurchaseBenchmark,
  type RequestFigures,
  type RequestName,
  reachableRatio,
} from '../benchmarks/purchase-benchmark.ts';
import type { RungBenchmark } from '../benchmarks/rung-benchmark.ts';
import type { Spread } from '../benchmarks/spread.ts';
import type { JudgedTarget } from '../benchmarks/targets.ts';
import { plainTable } from './tables.ts';

const names: Readonly<Record<RequestName, string>> = {
  nginx: 'nginx alone',
  node: 'bare node:http',
  bare: 'bare Hono',
  noop: 'no-op with token',
  purchase: 'purchase, accepted',
  'sold-out': 'purchase, sold out',
};

type Rounds = Pick<RungBenchmark, 'rounds' | 'seconds' | 'connections' | 'instances' | 'otherWork'>;

/** More other work than this makes every figure worse than the service is. */
const mostOtherWork = 0.05;
const notQuiet = 'THE MACHINE WAS NOT QUIET: the figures are worse than the service is';

/** In the order in which a request meets them. */
const cpuColumns = ['load', 'nginx', 'api', 'redis', 'worker', 'database', 'others'] as const;

export const cpuText = (spread: Spread | null, digits = 0): string =>
  spread === null ? '?' : spread.median.toFixed(digits);

export const rangeText = ({ least, most }: Spread, digits = 0): string =>
  `${least.toFixed(digits)}..${most.toFixed(digits)}`;

export function purchaseText(result: PurchaseBenchmark): string {
  const { requests, worker, targets, faults } = result;
  return [
    speedTable(requests),
    'CPU microseconds per request, by process (kernel accounting)',
    cpuTable(requests),
    reachableText(requests),
    capacityText(requests.purchase),
    workerText(worker),
    targetsText(targets),
    roundsText(result),
    faultsText(faults),
  ].join('\n\n');
}

function speedTable(requests: PurchaseBenchmark['requests']): string {
  const bare = requests.bare.requestsPerSecond.median;
  const rows = rowsOf(requests, ({ requestsPerSecond, p50Ms, p99Ms }) => [
    requestsPerSecond.median.toFixed(0),
    rangeText(requestsPerSecond),
    (requestsPerSecond.median / bare).toFixed(2),
    p50Ms.median.toFixed(1),
    p99Ms.median.toFixed(1),
    rangeText(p99Ms),
  ]);
  const head = ['POST', 'requests/s', 'least..most', '÷ bare', 'p50 ms', 'p99 ms', 'least..most'];
  return plainTable(head, rows);
}

function cpuTable(requests: PurchaseBenchmark['requests']): string {
  const rows = rowsOf(requests, ({ cpu }) => [
    ...cpuColumns.map((role) => cpuText(cpu[role], 1)),
    totalText(cpu),
  ]);
  return plainTable(['POST', ...cpuColumns, 'sum'], rows);
}

/** Without the load generator, which a customer's own machine pays for. */
function totalText(cpu: Readonly<Record<CpuRole, Spread | null>>): string {
  const roles = cpuColumns.filter((role) => role !== 'load');
  const medians = roles.map((role) => cpu[role]?.median ?? Number.NaN);
  const total = medians.reduce((sum, median) => sum + median, 0);
  return Number.isNaN(total) ? '?' : total.toFixed(0);
}

function reachableText(requests: PurchaseBenchmark['requests']): string {
  const ratio = reachableRatio(requests)?.toFixed(2) ?? '?';
  return `reachable: at best ${ratio} × bare Hono on this machine, since Redis, worker and
database use the same cores`;
}

/** From CPU time to cores. What has one thread, as a Redis has, cannot use more than one. */
function capacityText({ cpu }: RequestFigures): string {
  const roles = ['nginx', 'api', 'redis', 'worker', 'database'] as const;
  const row = (name: string, cell: (microseconds: number) => string) => [
    name,
    ...roles.map((role) => {
      const median = cpu[role]?.median;
      return median === undefined ? '?' : cell(median);
    }),
  ];
  const cores = (perSecond: number) => (time: number) =>
    ((time * perSecond) / 1e6).toFixed(perSecond > 1e5 ? 0 : 1);
  const rows = [
    row('purchases/s of one core', (time) => Math.round(1e6 / time).toString()),
    row('cores for 100,000/s', cores(1e5)),
    row('cores for 1,000,000/s', cores(1e6)),
  ];
  return plainTable(['capacity: cores at 100 %', ...roles], rows);
}

const rowsOf = (
  requests: PurchaseBenchmark['requests'],
  cells: (figures: RequestFigures) => string[],
): string[][] =>
  (Object.keys(names) as RequestName[]).map((name) => [names[name], ...cells(requests[name])]);

function workerText({ recordedPerSecond, lagMs, deepest }: PurchaseBenchmark['worker']): string {
  const recorded = `${recordedPerSecond.median.toFixed(0)} orders recorded/s`;
  const lag = `${lagMs.median.toFixed(0)} ms after the load`;
  return [
    `worker: ${recorded} (${rangeText(recordedPerSecond)})`,
    `lag: ${lag} (${rangeText(lagMs)}); at most ${deepest} orders queued`,
  ].join('\n');
}

export function rungsText(result: RungBenchmark): string {
  const rows = result.rungs.map(({ rung, acceptedPerSecond, p50Ms, p99Ms, ...more }) => [
    rung,
    acceptedPerSecond.median.toFixed(0),
    rangeText(acceptedPerSecond),
    more.recordedPerSecond.median.toFixed(0),
    p50Ms.median.toFixed(1),
    p99Ms.median.toFixed(1),
    `${(100 * more.refusedShare).toFixed(0)}%`,
    cpuText(more.cpuPerOrder),
  ]);
  const head = ['rung', 'accepted/s', 'least..most', 'recorded/s', 'p50', 'p99', 'refused', 'CPU'];
  return [
    plainTable(head, rows),
    `p50, p99  answer times in ms, of refusals too
refused   answers that were refused although stock was left
CPU       microseconds of all servers for each accepted order`,
    ...refusalLines(result),
    ...(result.targets.length > 0 ? [targetsText(result.targets)] : []),
    `Different users, one voucher with stock for all, no work added. ${roundsText(result)}`,
    faultsText(result.faults),
  ].join('\n\n');
}

function refusalLines({ rungs }: RungBenchmark): string[] {
  const lines = rungs
    .filter(({ refused }) => Object.keys(refused).length > 0)
    .map(({ rung, refused }) => `${rung} refused: ${countsOf(refused)}`);
  return lines.length > 0 ? [lines.join('\n')] : [];
}

const countsOf = (answers: Readonly<Record<string, number>>): string =>
  Object.entries(answers)
    .map(([code, count]) => `${count} ${code}`)
    .join(', ');

export const roundsText = ({
  rounds,
  seconds,
  connections,
  instances,
  otherWork,
}: Rounds): string =>
  `Median (and least..most)
of ${rounds} rounds of ${seconds} s in turns, wrk with ${connections} connections,
${instances} instances behind one nginx, order workers running
${otherWorkText(otherWork)}`;

export function otherWorkText(share: Spread | null): string {
  if (share === null) return 'other work on this machine: unknown';
  const percent = (part: number) => `${(100 * part).toFixed(0)}%`;
  const { median, least, most } = share;
  const isQuiet = share.median <= mostOtherWork;
  const advice = isQuiet ? '' : `\n${notQuiet}`;
  const range = least === most ? '' : ` (${percent(least)}..${percent(most)})`;
  return `other work on this machine: ${percent(median)} of its CPU time${range}${advice}`;
}

const marks = { met: '✓', unclear: '~', missed: '✗', unknown: '·' } as const;

export function targetsText(targets: readonly JudgedTarget[]): string {
  const rows = targets.map(({ name, atLeast, atMost, measured, answer }) => [
    `${marks[answer]} ${name}`,
    atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`,
    measured === null ? '?' : measured.median.toFixed(2),
    measured === null ? '' : rangeText(measured, 2),
  ]);
  const legend = '✓ met   ~ missed by less than the spread   ✗ missed   · not judged: one round';
  return `${plainTable(['  target', '', 'median', 'least..most'], rows)}\n${legend}`;
}

export const faultsText = (faults: readonly string[]): string =>
  faults.length > 0
    ? `THE FIGURES DO NOT COUNT:\n${faults.map((fault) => `- ${fault}`).join('\n')}`
    : 'Every answer was the expected one, and every accepted order was recorded.';

export function growthText(result: Growth): string {
  const { rung, byScript, rows, targets, faults, seconds, connections, instances } = result;
  const table = rows.map((row) => [
    String(row.orders),
    row.acceptedPerSecond.median.toFixed(0),
    row.p99Ms.median.toFixed(0),
    rangeText(row.p99Ms),
    row.lagMs.median.toFixed(0),
    cpuText(row.cpuPerOrder),
    row.redisBytesPerOrder.median.toFixed(0),
    cpuText(row.workerMb),
  ]);
  const columns = ['orders', 'accepted/s', 'p99 ms', 'least..most', 'lag ms', 'CPU µs'];
  const head = [...columns, 'Redis bytes', 'worker MB'];
  return [
    `${rung}: one voucher with more and more orders`,
    plainTable(head, table),
    `Each line is of the orders since the line before. CPU: of all servers for each order.
Redis bytes: the memory of redis-main for each order so far, once the queue is empty.
worker MB: the memory of the order workers.`,
    ...(targets.length > 0 ? [targetsText(targets)] : []),
    byScript
      ? `BY SCRIPT, WITHOUT HTTP: accepted/s and p99 are those of the script alone.
Each order by another user, ${connections} at once, in slices of 20,000; a slice begins
when the one before is recorded
${otherWorkText(result.otherWork)}`
      : `Slices of ${seconds} s, wrk with ${connections} connections, each request by another user,
${instances} instances behind one nginx, order workers running
${otherWorkText(result.otherWork)}`,
    faultsText(faults),
  ].join('\n\n');
}
