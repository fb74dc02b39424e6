/** The ways to measure of `bench`: what runs, and for how long by default. */
import { benchmarkBeside, besideReport } from '../lab/benchmarks/beside-benchmark.ts';
import { benchmarkBuckets, bucketsReport } from '../lab/benchmarks/bucket-benchmark.ts';
import { benchmarkFlood, floodReport } from '../lab/benchmarks/flood-benchmark.ts';
import {
  benchmarkGrowth,
  growthReport,
  refuseManyByHttp,
} from '../lab/benchmarks/growth-benchmark.ts';
import type { Bench } from '../lab/benchmarks/measure.ts';
import { type OtherService, readOtherService } from '../lab/benchmarks/other-service.ts';
import { benchmarkProfile, profileReport } from '../lab/benchmarks/profile-benchmark.ts';
import { benchmarkPurchase } from '../lab/benchmarks/purchase-benchmark.ts';
import { purchaseReport } from '../lab/benchmarks/purchase-report.ts';
import { benchmarkQueues, queuesReport } from '../lab/benchmarks/queue-benchmark.ts';
import { benchmarkRates, ratesReport } from '../lab/benchmarks/rate-benchmark.ts';
import { benchmarkRungs, rungsReport } from '../lab/benchmarks/rung-benchmark.ts';
import { saturate, saturationReport } from '../lab/benchmarks/saturation.ts';
import type { BenchmarkResult } from '../lab/benchmarks/targets.ts';
import { benchmarkWaiting, waitingReport } from '../lab/benchmarks/waiting-benchmark.ts';
import { flameGraph } from '../lab/report/flame-graph.ts';
import type { Bilingual } from '../lab/stage/result.ts';
import type { Block } from '../lab/stage/table.ts';
import { type RungName, rungNames } from '../service/ladder/rungs.ts';

/** The words after `bench`. */
export const hows = [
  'saturate',
  'rates',
  'profile',
  'buckets',
  'queues',
  'flood',
  'waiting',
] as const;

const measures: Readonly<Record<(typeof hows)[number], Bilingual>> = {
  saturate: {
    en: 'the highest rate of an open model (needs k6)',
    zh: '开放模型下的最高速率（需要 k6）',
  },
  rates: {
    en: 'the cost at low rates, and of instances that have just started',
    zh: '低速率时、实例刚启动时的代价',
  },
  profile: {
    en: 'where an instance spends its time, with a flame graph',
    zh: '一个实例的时间花在哪里，带火焰图',
  },
  buckets: { en: 'a hot voucher on several masters', zh: '热门券分到几个主节点上' },
  queues: {
    en: 'how fast each queue drains, beside BullMQ',
    zh: '每种队列消费得多快，和 BullMQ 相比',
  },
  flood: { en: 'purchases beside a flood of other requests', zh: '别的请求涌进来时的购买' },
  waiting: {
    en: 'a rush on a sale with a waiting room, and without',
    zh: '抢购，有等候室和没有等候室',
  },
};

export const howText: Bilingual = {
  en: hows.map((how) => `${how}: ${measures[how].en}`).join('; '),
  zh: hows.map((how) => `${how}：${measures[how].zh}`).join('；'),
};

/** The words and options of the command line that choose the mode. */
interface Choice {
  readonly how: (typeof hows)[number] | undefined;
  readonly rung: RungName | undefined;
  readonly ladder: boolean;
  readonly rate: number | undefined;
  readonly orders: number | undefined;
  /** For `waiting`: how many users are in the waiting room. */
  readonly line: number | undefined;
  /** The file that describes the other service. */
  readonly beside: string | undefined;
  /** Of orders: without HTTP. */
  readonly byScript: boolean;
}

/** `bench` alone, or with a word or an option that chooses another one. */
export interface Mode {
  /** Of its folder in runs/. */
  readonly name: string;
  readonly seconds: number;
  readonly rounds: number;
  readonly run: (bench: Bench, rounds: number) => Promise<Measurement>;
}

export interface Measurement {
  readonly result: BenchmarkResult;
  readonly report: readonly Block[];
  /** More files for its folder, by name. */
  readonly files?: Readonly<Record<string, string>>;
}

const measured = <Result extends BenchmarkResult>(
  result: Result,
  report: (result: Result) => readonly Block[],
): Measurement => ({ result, report: report(result) });

const purchase: Mode = {
  name: 'bench',
  seconds: 4,
  rounds: 5,
  run: async (bench, rounds) => measured(await benchmarkPurchase(bench, rounds), purchaseReport),
};

const rungs = (
  name: string,
  names: readonly RungName[],
  seconds: number,
  rounds: number,
): Mode => ({
  ...{ name, seconds, rounds },
  run: async (bench, times) => measured(await benchmarkRungs(bench, names, times), rungsReport),
});

const saturation = (rung: RungName, first?: number): Mode => ({
  ...{ name: 'bench-saturate', seconds: 5, rounds: 1 },
  run: async (bench) => measured(await saturate(bench, rung, first), saturationReport),
});

const rates: Mode = {
  ...{ name: 'bench-rates', seconds: 3, rounds: 1 },
  run: async (bench) => measured(await benchmarkRates(bench), ratesReport),
};

const profile = (rung: RungName): Mode => ({
  ...{ name: 'bench-profile', seconds: 10, rounds: 1 },
  run: async (bench) => {
    const { result, tree } = await benchmarkProfile(bench, rung);
    const files = { 'flame-graph.svg': flameGraph(tree) };
    return { result, report: profileReport(result), files };
  },
});

const buckets: Mode = {
  ...{ name: 'bench-buckets', seconds: 4, rounds: 5 },
  run: async (bench, rounds) => measured(await benchmarkBuckets(bench, rounds), bucketsReport),
};

const queues: Mode = {
  ...{ name: 'bench-queues', seconds: 5, rounds: 3 },
  run: async (bench, rounds) => measured(await benchmarkQueues(bench, rounds), queuesReport),
};

const flood = (rate: number): Mode => ({
  ...{ name: 'bench-flood', seconds: 6, rounds: 1 },
  run: async (bench) => measured(await benchmarkFlood(bench, rate), floodReport),
});

/** Users who wait at the end of the rush. */
const longestLine = 100_000;

const waiting = (rung: RungName, rate: number, line: number): Mode => ({
  ...{ name: 'bench-waiting', seconds: 6, rounds: 1 },
  run: async (bench) => measured(await benchmarkWaiting(bench, rung, rate, line), waitingReport),
});

function growth(rung: RungName, orders: number, byScript: boolean): Mode {
  if (!byScript) refuseManyByHttp(orders);
  return {
    ...{ name: byScript ? 'bench-orders-by-script' : 'bench-orders', seconds: 2, rounds: 1 },
    run: async (bench) =>
      measured(await benchmarkGrowth(bench, rung, orders, byScript), growthReport),
  };
}

const beside = (other: OtherService): Mode => ({
  ...{ name: 'bench-beside', seconds: 4, rounds: 5 },
  run: async (bench, rounds) => measured(await benchmarkBeside(bench, other, rounds), besideReport),
});

export function modeOf(choice: Choice): Mode {
  const { how, rung, ladder, rate, orders, byScript, beside: file, line = longestLine } = choice;
  if (file !== undefined) return beside(readOtherService(file));
  if (how === 'saturate') return saturation(rung ?? 'lua-stream', rate);
  if (how === 'rates') return rates;
  if (how === 'flood') return flood(rate ?? 3_000);
  if (how === 'waiting') return waiting(rung ?? 'lua-stream', rate ?? 1_000, line);
  if (how === 'profile') return profile(rung ?? 'lua-stream');
  if (how === 'buckets') return buckets;
  if (how === 'queues') return queues;
  if (orders !== undefined) return growth(rung ?? 'lua-stream', orders, byScript);
  if (ladder) return rungs('bench-ladder', rungNames, 2, 2);
  return rung ? rungs('bench-rung', [rung], 4, 5) : purchase;
}
