/**
 * Every queue of the ladder, and BullMQ as an outsider, at one and a half times the load that
 * BullMQ records. The purchases come at this rate, however slowly the queue drains.
 */

import { queueRungs } from '../drills/accepted-is-not-sold.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { isOutsider, outsiderNames, withOutsiders } from '../outsiders/with-outsiders.ts';
import { type Block, type Column, tableOf } from '../stage/table.ts';
import { buySteadily, onePurchaseEach, type Try } from '../workload/steady-purchases.ts';
import { faultsOfRecording } from './faults-of-figures.ts';
import { acceptedColumn, faultsText, medianText, rangeColumn } from './figure-text.ts';
import {
  type Bench,
  countConfirmed,
  measureSale,
  putVoucherOnSale,
  settledCount,
  tellRound,
  warmingUp,
} from './measure.ts';
import { type BenchmarkResult, type Spread, spreadOf, spreadOfKnown } from './targets.ts';

/** The outsider with its own times. */
const [bullmq] = outsiderNames;
const overload = 1.5;
const warmUpRate = 100;
const clients = 512;
const drainWithinMs = 60_000;
/** A queue that keeps up has fewer orders in hand. */
const waitingMin = 200;
/** Sent late, a load is another load. */
const shareOfRateMin = 0.95;

export interface QueueRow {
  readonly rung: string;
  readonly acceptedPerSecond: Spread;
  /** While the purchases came. */
  readonly recordedPerSecond: Spread;
  /** Accepted, and not in MySQL, when the last purchase was answered. */
  readonly waiting: Spread;
  /** From then until MySQL had all of them. */
  readonly drainSeconds: Spread;
  /** Of the orders that waited, in a second; null when too few waited in a round to tell. */
  readonly drainedPerSecond: Spread | null;
}

export interface QueueBenchmark extends BenchmarkResult {
  /** Recorded by BullMQ in a second of a closed load. */
  readonly bullmqPerSecond: number;
  /** Purchases per second, of every queue. */
  readonly rate: number;
  readonly rounds: number;
  readonly rows: readonly QueueRow[];
}

export async function benchmarkQueues(
  bench: Bench,
  queues: readonly string[] = queueRungs,
): Promise<QueueBenchmark> {
  await import('../outsiders/outsiders.ts'); // This process must know their rows too.
  const { lab, load, rounds, progress } = bench;
  const { shape } = lab;
  await lab.ensure({ ...shape, settings: { ...shape.settings, ...withOutsiders } });
  const rungs = [...queues, bullmq];
  progress(warmingUp);
  for (const rung of rungs) await overloaded(bench, rung, warmUpRate);
  const { recordedPerSecond } = await measureSale(bench, bullmq);
  const rate = Math.ceil(recordedPerSecond * overload);
  const runs = new Map<string, Run[]>(rungs.map((rung) => [rung, []]));
  for (let round = 1; round <= rounds; round++)
    for (const rung of inTurn(rungs, round)) {
      tellRound(bench, round, `${rung}, ${rate} purchases/s`, `${rung}，每秒下单 ${rate} 次`);
      runs.get(rung)?.push(await overloaded(bench, rung, rate));
    }
  const { seconds } = load;
  return {
    seconds,
    instances: lab.shape.instances,
    targets: [],
    bullmqPerSecond: recordedPerSecond,
    rate,
    rounds,
    rows: [...runs].map(([rung, all]) => rowOf(rung, all)),
    faults: [...runs].flatMap(([rung, all]) => all.flatMap((run) => faultsOfRun(rung, run, rate))),
  };
}

/** Another one begins each round: other work of the machine hits all. */
function inTurn(rungs: readonly string[], round: number): string[] {
  const first = round % rungs.length;
  return [...rungs.slice(first), ...rungs.slice(0, first)];
}

/** One load on one queue. */
export interface Run {
  readonly tries: readonly Pick<Try, 'outcome' | 'reason'>[];
  readonly seconds: number;
  /** In MySQL when the last purchase was answered, and in the end. */
  readonly recordedInTime: number;
  readonly recorded: number;
  readonly drainSeconds: number;
}

async function overloaded(bench: Bench, rung: string, rate: number): Promise<Run> {
  const { lab, connections, load, signal } = bench;
  signal.throwIfAborted();
  const due = rate * load.seconds;
  const voucherId = await putVoucherOnSale(bench, rung, due);
  const count = () => countConfirmed(connections, voucherId);
  const startedAt = performance.now();
  const tries = await buySteadily(onePurchaseEach(voucherId, 'queue', due), {
    baseUrl: lab.baseUrl,
    tokenSecret: lab.tokenSecret,
    purchasesPerSecond: rate,
    clients,
    repeats: false,
    giveUp: signal,
  });
  const endedAt = performance.now();
  const recordedInTime = await count();
  const accepted = acceptedOf({ tries });
  const isDrained = async () => (await count()) >= accepted;
  await waitUntil('the queue to drain', drainWithinMs, isDrained, 20).catch(() => {}); // A fault.
  const drainSeconds = (performance.now() - endedAt) / 1_000;
  const recorded = await settledCount(count);
  return { tries, seconds: (endedAt - startedAt) / 1_000, recordedInTime, recorded, drainSeconds };
}

const countOf = ({ tries }: Pick<Run, 'tries'>, wanted: Try['outcome']): number =>
  tries.filter(({ outcome }) => outcome === wanted).length;
const acceptedOf = (run: Pick<Run, 'tries'>): number => countOf(run, 'accepted');
const waitingOf = (run: Run): number => Math.max(0, acceptedOf(run) - run.recordedInTime);
const drainRate = (run: Run): number | null =>
  waitingOf(run) < waitingMin ? null : waitingOf(run) / run.drainSeconds;

export function rowOf(rung: string, runs: readonly Run[]): QueueRow {
  const spread = (figure: (run: Run) => number) => spreadOf(runs.map(figure));
  return {
    rung,
    acceptedPerSecond: spread((run) => acceptedOf(run) / run.seconds),
    recordedPerSecond: spread(({ recordedInTime, seconds }) => recordedInTime / seconds),
    waiting: spread(waitingOf),
    drainSeconds: spread(({ drainSeconds }) => drainSeconds),
    drainedPerSecond: spreadOfKnown(runs.map(drainRate)),
  };
}

/** There is stock for all, and each user asks once: a queue that is full says so. */
export function faultsOfRun(rung: string, run: Run, rate: number): string[] {
  const { tries, seconds, recorded } = run;
  const wrong = tries.filter(
    ({ outcome, reason }) => outcome === 'refused' && reason !== 'queue-full',
  );
  const reasons = [...new Set(wrong.map(({ reason }) => reason))].join(', ');
  const sentPerSecond = tries.length / seconds;
  const isLate = sentPerSecond < rate * shareOfRateMin;
  return [
    ...(isLate ? [`${rung}: sent ${sentPerSecond.toFixed(0)} purchases/s only`] : []),
    ...(wrong.length > 0 ? [`${rung}: ${wrong.length} ${reasons}`] : []),
    ...faultsOfRecording(rung, acceptedOf(run), recorded, countOf(run, 'unknown')),
  ];
}

export function queuesReport(result: QueueBenchmark): Block[] {
  const { rows, bullmqPerSecond, rate, seconds, rounds, instances } = result;
  return [
    {
      en: `The load: ${rate} purchases/s, ${overload} times what BullMQ records (${bullmqPerSecond.toFixed(0)}/s)`,
      zh: `每秒下单 ${rate} 次，是 BullMQ 入库速率（每秒 ${bullmqPerSecond.toFixed(0)}）的 ${overload} 倍`,
    },
    tableOf('', rows, queueColumns, { legend }),
    {
      en: `Medians of ${rounds} rounds of ${seconds} s in turns. Different users, one voucher with
stock for all, ${instances} instances behind one nginx, order workers running.`,
      zh: `轮流测 ${rounds} 轮，每轮 ${seconds} 秒，取中位数。用户各不相同，一张券，库存够所有人，
一个 nginx 后面 ${instances} 个实例，订单消费者在运行。`,
    },
    faultsText(result),
  ];
}

const queueColumns: readonly Column<QueueRow>[] = [
  [{ en: 'queue', zh: '队列' }, ({ rung }) => (isOutsider(rung) ? `${rung} *` : rung)],
  acceptedColumn,
  [{ en: 'recorded/s', zh: '入库/秒' }, ({ recordedPerSecond }) => medianText(recordedPerSecond)],
  [{ en: 'waiting', zh: '积压' }, ({ waiting }) => medianText(waiting)],
  rangeColumn(({ waiting }) => waiting),
  [{ en: 'drained s', zh: '排空 s' }, ({ drainSeconds }) => medianText(drainSeconds, 1)],
  [
    { en: 'drain/s', zh: '排空/秒' },
    ({ drainedPerSecond }) => drainedPerSecond?.median.toFixed(0) ?? '–',
  ],
];

const legend = {
  'recorded/s': { en: 'into MySQL, while the purchases came', zh: '下单期间写入 MySQL 的' },
  waiting: {
    en: 'accepted orders that were not in MySQL when the last purchase was answered',
    zh: '最后一次下单得到响应时，已受理、还没写入 MySQL 的订单',
  },
  'drained s': { en: 'from then until MySQL had all of them', zh: '从那时到全部写入 MySQL' },
  'drain/s': {
    en: `of this backlog (– below ${waitingMin} orders: such a queue keeps up)`,
    zh: `积压的消化速率（– 表示不到 ${waitingMin} 单：这种队列跟得上）`,
  },
  '*': { en: 'no rung: an outsider', zh: '不是方案，是外部对照' },
};
