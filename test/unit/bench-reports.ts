/** The report of every benchmark, with figures as wide as they come. */
import { besideReport } from '../../src/lab/benchmarks/beside-benchmark.ts';
import { bucketsReport } from '../../src/lab/benchmarks/bucket-benchmark.ts';
import { byRole } from '../../src/lab/benchmarks/cpu-by-role.ts';
import { targetsTable } from '../../src/lab/benchmarks/figure-text.ts';
import { floodReport } from '../../src/lab/benchmarks/flood-benchmark.ts';
import { growthReport } from '../../src/lab/benchmarks/growth-benchmark.ts';
import { floor, lockTable, lockTarget } from '../../src/lab/benchmarks/lock-benchmark.ts';
import { profileReport } from '../../src/lab/benchmarks/profile-benchmark.ts';
import { purchaseReport, type RequestName } from '../../src/lab/benchmarks/purchase-benchmark.ts';
import { queuesReport } from '../../src/lab/benchmarks/queue-benchmark.ts';
import { ratesReport } from '../../src/lab/benchmarks/rate-benchmark.ts';
import { rungsReport } from '../../src/lab/benchmarks/rung-benchmark.ts';
import { type SaturationStep, saturationReport } from '../../src/lab/benchmarks/saturation.ts';
import { judgeTarget, spreadOf } from '../../src/lab/benchmarks/targets.ts';
import { waitingReport } from '../../src/lab/benchmarks/waiting-benchmark.ts';
import type { Block } from '../../src/lab/stage/table.ts';
import { floodRequests } from '../../src/lab/workload/flood.ts';
import { rungNames } from '../../src/service/ladder/rungs.ts';
import { exactly } from './bench-figures.ts';

const rate = spreadOf([12_345.6, 23_456.7, 34_567.8]);
const ms = spreadOf([1_012.3, 1_234.5, 2_345.6]);
const share = spreadOf([0.02, 0.07, 0.12]);
const slow = spreadOf([101.2, 123.4, 156.7]);
const thousands = spreadOf([7_012.3, 8_123.4, 9_234.5]);
const cpu = byRole(() => slow);
const targets = (['met', 'unclear', 'missed', 'unknown'] as const).map((name, index) =>
  judgeTarget(
    { name: `purchase ÷ no-op, ${name}`, atLeast: 0.8, because: '' },
    index === 3 ? null : spreadOf([[0.9], [0.7, 0.7, 0.9], [0.5, 0.6]][index] ?? [1]),
    2,
  ),
);
const faults = ['purchase: 12 busy', 'lua-stream: 100 orders accepted, 99 recorded'];
const closed = { seconds: 4, connections: 128, rounds: 5, instances: 4, otherWork: share };
const open = { seconds: 5, instances: 4, targets: [], faults: [] };
const speeds = { requestsPerSecond: rate, acceptedPerSecond: rate, p50Ms: ms, p99Ms: ms, cpu };
const requestNames: RequestName[] = ['nginx', 'node', 'bare', 'noop', 'purchase', 'sold-out'];
const requests = Object.fromEntries(requestNames.map((name) => [name, speeds])) as Record<
  RequestName,
  typeof speeds
>;
const recording = {
  ...{ recorded: rate, duringPerSecond: rate, afterPerSecond: rate, drainSeconds: ms },
  perSecond: rate,
};
const step = (perSecond: number, isGood: boolean): SaturationStep => ({
  ...{ rate: perSecond, seconds: 5, accepted: 60_000, recorded: 60_000, answers: {}, dropped: 12 },
  ...{ p50Ms: 123.4, p99Ms: 12_345.6, mostMs: 20_000, reasons: [], isGood, otherWork: 0.01 },
  cpu: byRole(() => 123),
});
const end = {
  ...{ oversold: 1_000, stranded: 1_000, soldOutWrongly: 1_000, askedToRetry: 1_000 },
  ...{ transfers: 1_000, strandedWithoutLending: 1_000 },
};
const light = { answers: { accepted: 1, busy: 3 }, p50Ms: 1_234.5, p99Ms: 12_345.6, otherWork: 0 };
const growthRow = (orders: number) => ({
  ...{ orders, acceptedPerSecond: rate, p99Ms: ms, lagMs: ms, cpuPerOrder: ms },
  ...{ redisBytesPerOrder: ms, workerMb: null },
});

const costs = [floor, 'redis-reentrant', 'redisson (Java)'].map((lock) => ({
  ...{ lock, alone: { cyclesPerSecond: 12_345, p99Ms: 0.12 }, rounds: [12_000, 12_345, 13_000] },
  ...(lock === 'redis-reentrant' && {
    contended: { cyclesPerSecond: 2_345, p99Ms: 123.4, commandsPerCycle: 3.1 },
  }),
}));

export const benchReports: Readonly<Record<string, readonly Block[]>> = {
  purchase: purchaseReport({
    ...{ ...closed, requests, ratioToBare: 0.5, targets, faults },
    worker: { recordedPerSecond: rate, lagMs: ms, deepest: 123_456 },
  }),
  rungs: rungsReport({
    ...{ ...closed, targets: [], faults: [], otherWork: null },
    rungs: rungNames.map((rung) => ({
      ...{ rung, acceptedPerSecond: thousands, recordedPerSecond: thousands },
      ...{ p50Ms: slow, p99Ms: ms },
      ...{ refused: { busy: 12, conflict: 345 }, refusedShare: 1, cpuPerOrder: ms },
    })),
  }),
  rates: ratesReport({
    ...{ ...closed, otherWork: exactly(0), targets: [], faults: [] },
    rows: [
      [false, true],
      [false, false],
      [true, false],
    ].map(([isClosed = false, isCold = false]) => ({
      ...{ rate: 12_345.6, isClosed, isCold, p50Ms: 123.4, p99Ms: 1_234.5, otherWork: 0 },
      cpu: byRole((role) => (role === 'api' ? null : 1_234)),
    })),
  }),
  saturate: saturationReport({
    ...{ ...open, rung: 'mutex-inside-transaction', mostP99Ms: 50, best: 12_000 },
    steps: [step(12_000, true), step(12_000, true), step(18_000, false)],
  }),
  'saturate nothing': saturationReport({
    ...{ ...open, rung: 'lua-stream', mostP99Ms: 50, best: null, steps: [] },
  }),
  profile: profileReport({
    ...{ ...open, rung: 'lua-stream', purchases: 123_456, apiMicroseconds: 123.4 },
    parts: ['service: routes, headers, answers', 'streams, events, timers of Node'].map((part) => ({
      ...{ part, share: 0.5 },
    })),
  }),
  buckets: bucketsReport({
    ...{ ...closed, masters: 3, endOfStock: { stock: 1_200, users: 1_320 }, targets: [], faults },
    rows: [1, 2, 3, 4].map((buckets) => ({
      ...{ buckets, acceptedPerSecond: rate, mastersCpu: [ms, ms, null], apiCpu: ms, end },
    })),
  }),
  queues: queuesReport({
    ...{ ...open, rounds: 3, bullmqPerSecond: 3_333, rate: 5_000 },
    rows: ['redis-stream-last-id', 'bullmq'].map((rung) => ({
      ...{ rung, acceptedPerSecond: rate, recordedPerSecond: rate, waiting: ms },
      ...{ drainSeconds: ms, drainedPerSecond: rung === 'bullmq' ? null : rate },
    })),
  }),
  flood: floodReport({
    ...{ ...open, purchasesPerSecond: 3_000, floodConnections: 512 },
    rows: [false, true].flatMap((isLimited) =>
      [null, ...floodRequests].map((flood) => ({
        ...{ ...light, flood: flood?.name ?? null, isLimited, soldPerSecond: 12_345 },
        ...{ floodPerSecond: 123_456, refusedPerSecond: 123_456 },
      })),
    ),
  }),
  waiting: waitingReport({
    ...{ ...open, rung: 'lua-stream', passesAtOnce: 200 },
    rows: (['calm', 'rush', 'rush without a waiting room'] as const).map((name) => ({
      ...{ ...light, name, usersPerSecond: 1_000, users: 111_111, soldPerSecond: 1_234 },
      ...{ waiting: 100_000, inversions: 1_234 },
    })),
  }),
  growth: growthReport({
    ...{ ...closed, rung: 'lua-stream', byScript: false, faults: [], targets },
    rows: [growthRow(10_000), growthRow(10_000_000)],
  }),
  'growth by script': growthReport({
    ...{ ...closed, rung: 'lua-stream', byScript: true, faults, targets: [] },
    rows: [growthRow(10_000)],
  }),
  beside: besideReport({
    ...{ ...closed, targets, faults: [] },
    sellers: [
      { name: 'lockstep', ...speeds, recording },
      { name: 'sixteen-columns-', ...speeds, cpu: byRole(() => exactly(0)), recording: null },
    ],
    ratios: { accepted: exactly(2), recorded: null, p99: exactly(0.5) },
  }),
  locks: [lockTable(costs), ...targetsTable([lockTarget(costs)])],
};
