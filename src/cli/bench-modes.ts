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
import type { Block } from '../lab/stage/table.ts';
import { type RungName, rungNames } from '../service/ladder/rungs.ts';

/** The words after `bench`, and what they measure. */
export const hows = {
  saturate: 'the highest rate of an open model (needs k6)',
  rates: 'the cost at low rates, and of instances that have just started',
  profile: 'where an instance spends its time, with a flame graph',
  buckets: 'a hot voucher on several masters',
  queues: 'how fast each queue drains, beside BullMQ',
  flood: 'purchases beside a flood of other requests',
  waiting: 'a rush on a sale with a waiting room, and without',
} as const;

/** The words and options of the command line that choose the mode. */
export interface Choice {
  readonly how?: keyof typeof hows | undefined;
  readonly rung?: RungName;
  readonly ladder: boolean;
  readonly rate?: number;
  readonly orders?: number;
  /** Of waiting: so many users. */
  readonly line?: number;
  /** The file that describes the other service. */
  readonly beside?: string;
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

const purchase: Mode = {
  name: 'bench',
  seconds: 4,
  rounds: 5,
  run: async (bench, rounds) => {
    const result = await benchmarkPurchase(bench, rounds);
    return { result, report: purchaseReport(result) };
  },
};

const rungs = (
  name: string,
  names: readonly RungName[],
  seconds: number,
  rounds: number,
): Mode => ({
  ...{ name, seconds, rounds },
  run: async (bench, times) => {
    const result = await benchmarkRungs(bench, names, times);
    return { result, report: rungsReport(result) };
  },
});

const saturation = (rung: RungName, first?: number): Mode => ({
  ...{ name: 'bench-saturate', seconds: 5, rounds: 1 },
  run: async (bench) => {
    const result = await saturate(bench, rung, first);
    return { result, report: saturationReport(result) };
  },
});

const rates: Mode = {
  ...{ name: 'bench-rates', seconds: 3, rounds: 1 },
  run: async (bench) => {
    const result = await benchmarkRates(bench);
    return { result, report: ratesReport(result) };
  },
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
  run: async (bench, rounds) => {
    const result = await benchmarkBuckets(bench, rounds);
    return { result, report: bucketsReport(result) };
  },
};

const queues: Mode = {
  ...{ name: 'bench-queues', seconds: 5, rounds: 3 },
  run: async (bench, rounds) => {
    const result = await benchmarkQueues(bench, rounds);
    return { result, report: queuesReport(result) };
  },
};

const flood = (rate: number): Mode => ({
  ...{ name: 'bench-flood', seconds: 6, rounds: 1 },
  run: async (bench) => {
    const result = await benchmarkFlood(bench, rate);
    return { result, report: floodReport(result) };
  },
});

/** So many users wait at the end of the rush. */
const longestLine = 100_000;

const waiting = (rung: RungName, rate: number, line: number): Mode => ({
  ...{ name: 'bench-waiting', seconds: 6, rounds: 1 },
  run: async (bench) => {
    const result = await benchmarkWaiting(bench, rung, rate, line);
    return { result, report: waitingReport(result) };
  },
});

function growth(rung: RungName, orders: number, byScript: boolean): Mode {
  if (!byScript) refuseManyByHttp(orders);
  return {
    ...{ name: byScript ? 'bench-orders-by-script' : 'bench-orders', seconds: 2, rounds: 1 },
    run: async (bench) => {
      const result = await benchmarkGrowth(bench, rung, orders, byScript);
      return { result, report: growthReport(result) };
    },
  };
}

const beside = (other: OtherService): Mode => ({
  ...{ name: 'bench-beside', seconds: 4, rounds: 5 },
  run: async (bench, rounds) => {
    const result = await benchmarkBeside(bench, other, rounds);
    return { result, report: besideReport(result) };
  },
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
