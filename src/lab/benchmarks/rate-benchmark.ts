/**
 * What a purchase costs at a low rate, and in the first seconds of an instance. It costs more: a
 * core that has nothing to do falls asleep, and must be woken up for each message; few buyers share
 * a call of the script; and code that has just started is not compiled yet.
 */

import { type Block, type Column, tableOf } from '../stage/table.ts';
import { faultsOfRecording, faultsOfSale, otherAnswers } from './faults-of-figures.ts';
import { faultsText, otherWorkText } from './figure-text.ts';
import { lightLoad } from './light-load.ts';
import {
  type AnswerCost,
  type Bench,
  measureOpen,
  measureSale,
  orderPath,
  warmingUp,
} from './measure.ts';
import { type ClosedBenchmarkResult, spreadOfKnown } from './targets.ts';
import { headersOf, type LoadResult } from './wrk.ts';

const rates = [500, 1_500, 3_000, 6_000] as const;
const rung = 'lua-stream';

export interface RateRow extends Omit<LoadResult, 'answers'>, AnswerCost {
  /** The instances had just started. */
  readonly isCold: boolean;
  /** Purchases per second: those that were due; of a closed model, those that were sold. */
  readonly rate: number;
  readonly isClosed: boolean;
}

/** Its connections are those of the closed model. */
export interface RateBenchmark extends ClosedBenchmarkResult {
  readonly rows: readonly RateRow[];
}

export async function benchmarkRates(bench: Bench): Promise<RateBenchmark> {
  const { lab, load, progress } = bench;
  const rows: RateRow[] = [];
  const faults: string[] = [];
  const measure = async (rate: number, isCold: boolean) => {
    if (isCold) await lab.serve(lab.shape);
    progress({
      en: `${rate} purchases/s, ${isCold ? 'cold' : 'warm'} …`,
      zh: `每秒下单 ${rate} 次，${isCold ? '刚启动' : '已预热'}……`,
    });
    const { answers, accepted, recorded, ...row } = await measureRateOnce(bench, rate);
    rows.push({ ...row, rate, isCold, isClosed: false });
    const name = `${rate} purchases/s`;
    faults.push(...otherAnswers(name, answers));
    faults.push(...faultsOfRecording(name, accepted, recorded, 0));
  };
  for (const rate of rates) await measure(rate, true);
  progress(warmingUp);
  await measureSale(bench, rung);
  for (const rate of rates) await measure(rate, false);
  progress({ en: 'As many as it sells …', zh: '能卖多快就卖多快……' });
  const sale = await measureSale(bench, rung);
  faults.push(...faultsOfSale(rung, sale, load.connections));
  const { requestsPerSecond, ...full } = sale.purchase;
  rows.push({ ...full, rate: requestsPerSecond, isCold: false, isClosed: true });
  const { seconds, connections } = load;
  const { instances } = lab.shape;
  const otherWork = spreadOfKnown(rows.map((row) => row.otherWork));
  return { rows, seconds, connections, instances, otherWork, targets: [], faults };
}

function measureRateOnce(bench: Bench, rate: number) {
  const { lab, load, signal } = bench;
  const headers = headersOf(load.tokens, rate * load.seconds);
  return measureOpen(bench, rung, headers.length, (voucherId) =>
    lightLoad(`${lab.baseUrl}${orderPath(voucherId)}`, { rate, headers }, signal),
  );
}

export function ratesReport(result: RateBenchmark): Block[] {
  const { rows, seconds, connections, instances, otherWork } = result;
  const title = {
    en: 'What a purchase costs at a low rate, and in the first seconds of an instance',
    zh: '低速率时、实例刚启动几秒里，一次下单的代价',
  };
  const other = otherWorkText(otherWork);
  const legend = {
    'load … database': {
      en: 'CPU microseconds per purchase, by process (kernel accounting)',
      zh: '每次下单的 CPU 微秒数，按进程（内核统计）',
    },
    cold: {
      en: `the instances have just started: the first ${seconds} s of their life`,
      zh: `实例刚刚启动：最初的 ${seconds} 秒`,
    },
    full: {
      en: `a closed model: as many as the service sells, ${connections} at once`,
      zh: `封闭模型：服务能卖多少就卖多少，${connections} 个并发`,
    },
  };
  return [
    tableOf(title, rows, rateColumns, { textColumns: 2, legend }),
    {
      en: `Each line is ${seconds} s on a voucher of its own, through nginx, with ${instances} instances.
Latency counts from the time at which a purchase was due.
${other.en}`,
      zh: `每行 ${seconds} 秒，各用一张券，经过 nginx，${instances} 个实例。
响应时间从这次下单该发出的时刻算起。
${other.zh}`,
    },
    faultsText(result),
  ];
}

const states = {
  full: { en: 'full', zh: '满载' },
  cold: { en: 'cold', zh: '刚启动' },
  warm: { en: 'warm', zh: '已预热' },
};

const roles = ['load', 'nginx', 'api', 'redis', 'worker', 'database'] as const;

const rateColumns: readonly Column<RateRow>[] = [
  [{ en: 'purchases/s', zh: '下单/秒' }, ({ rate }) => rate.toFixed(0)],
  ['', ({ isClosed, isCold }) => (isClosed ? states.full : isCold ? states.cold : states.warm)],
  ['p50 ms', ({ p50Ms }) => p50Ms.toFixed(1)],
  ['p99 ms', ({ p99Ms }) => p99Ms.toFixed(1)],
  ...roles.map((role): Column<RateRow> => [role, ({ cpu }) => cpu[role]?.toFixed(0) ?? '?']),
];
