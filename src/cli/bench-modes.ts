/** The ways to measure of `bench`: what runs, and for how long by default. */
import { benchmarkGrowth } from '../lab/benchmarks/growth-benchmark.ts';
import type { Bench } from '../lab/benchmarks/measure.ts';
import { benchmarkPurchase } from '../lab/benchmarks/purchase-benchmark.ts';
import { benchmarkRungs } from '../lab/benchmarks/rung-benchmark.ts';
import { saturate } from '../lab/benchmarks/saturation.ts';
import type { BenchmarkResult } from '../lab/benchmarks/targets.ts';
import { saturationText } from '../lab/report/bench-saturation-text.ts';
import { growthText, purchaseText, rungsText } from '../lab/report/bench-text.ts';
import { type RungName, rungNames } from '../ladder/rungs.ts';

export const hows = ['saturate'] as const;

/** The words and options of the command line that choose the mode. */
export interface Choice {
  readonly how?: (typeof hows)[number] | undefined;
  readonly rung?: RungName;
  readonly ladder: boolean;
  readonly rate?: number;
  readonly orders?: number;
}

/** `bench` alone, or with a word or an option that chooses another one. */
export interface Mode {
  /** Of its folder in runs/. */
  readonly name: string;
  readonly seconds: number;
  readonly rounds: number;
  readonly run: (
    bench: Bench,
    rounds: number,
  ) => Promise<{ readonly result: BenchmarkResult; readonly text: string }>;
}

const purchase: Mode = {
  name: 'bench',
  seconds: 4,
  rounds: 5,
  run: async (bench, rounds) => {
    const result = await benchmarkPurchase(bench, rounds);
    return { result, text: purchaseText(result) };
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
    return { result, text: rungsText(result) };
  },
});

const saturation = (rung: RungName, first?: number): Mode => ({
  ...{ name: 'bench-saturate', seconds: 5, rounds: 1 },
  run: async (bench) => {
    const result = await saturate(bench, rung, first);
    return { result, text: saturationText(result) };
  },
});

const growth = (rung: RungName, orders: number): Mode => ({
  ...{ name: 'bench-orders', seconds: 2, rounds: 1 },
  run: async (bench) => {
    const result = await benchmarkGrowth(bench, rung, orders);
    return { result, text: growthText(result) };
  },
});

export function modeOf({ how, rung, ladder, rate, orders }: Choice): Mode {
  if (how === 'saturate') return saturation(rung ?? 'lua-stream', rate);
  if (orders !== undefined) return growth(rung ?? 'lua-stream', orders);
  if (ladder) return rungs('bench-ladder', rungNames, 2, 2);
  return rung ? rungs('bench-rung', [rung], 4, 5) : purchase;
}
