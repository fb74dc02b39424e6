/** Where an instance spends the CPU time of a purchase: its profile under the load of `bench`. */

import { setTimeout as sleep } from 'node:timers/promises';
import { takeProfile } from '../environment/ask-instance.ts';
import { instanceNames } from '../environment/servers/service.ts';
import { type Block, tableOf } from '../stage/table.ts';
import { type Call, CpuProfile, callTree, type Part, shareOfParts } from './cpu-profile.ts';
import { faultsOfSale } from './faults-of-figures.ts';
import { faultsText } from './figure-text.ts';
import { type Bench, measureSale, warmingUp } from './measure.ts';
import type { BenchmarkResult } from './targets.ts';

export interface ProfileBenchmark extends BenchmarkResult {
  readonly rung: string;
  readonly purchases: number;
  /** Of all instances, by the kernel, for each purchase: while one of them is profiled. */
  readonly apiMicroseconds: number | null;
  readonly parts: readonly Part[];
}

/** The profile begins later than the load, and ends before it. */
const margin = 0.2;

export async function benchmarkProfile(bench: Bench, rung: string) {
  const { lab, load, progress } = bench;
  const [instance = ''] = instanceNames(lab.shape);
  progress(warmingUp);
  await measureSale(bench, rung);
  progress({
    en: `${load.seconds} s of purchases, and a profile of ${instance} …`,
    zh: `下单 ${load.seconds} 秒，同时采样 ${instance} ……`,
  });
  const forMs = load.seconds * 1_000 * (1 - 2 * margin);
  const [sale, tree] = await Promise.all([
    measureSale(bench, rung),
    profileLater(bench, instance, forMs),
  ]);
  const result: ProfileBenchmark = {
    rung,
    seconds: load.seconds,
    instances: lab.shape.instances,
    purchases: sale.accepted,
    apiMicroseconds: sale.purchase.cpu.api,
    parts: shareOfParts(tree),
    targets: [],
    faults: faultsOfSale(rung, sale, load.connections),
  };
  return { result, tree };
}

async function profileLater({ lab, load }: Bench, instance: string, forMs: number): Promise<Call> {
  await sleep(load.seconds * 1_000 * margin);
  return callTree(CpuProfile.parse(await takeProfile(lab, instance, forMs)));
}

export function profileReport(result: ProfileBenchmark): Block[] {
  const { rung, parts, apiMicroseconds, purchases, seconds, instances } = result;
  const microseconds = (share: number): string =>
    apiMicroseconds === null ? '?' : (share * apiMicroseconds).toFixed(1);
  return [
    tableOf(
      '',
      [...parts, null],
      [
        [
          { en: 'part of an instance', zh: '实例的部分' },
          (each) => each?.part ?? { en: 'sum', zh: '合计' },
        ],
        ['CPU', (each) => (each ? `${(100 * each.share).toFixed(1)}%` : '')],
        [{ en: 'µs per purchase', zh: 'µs/次下单' }, (each) => microseconds(each?.share ?? 1)],
      ],
    ),
    {
      en: `The CPU time of a purchase on ${rung} (by the kernel, all ${instances} instances, ${purchases}
purchases in ${seconds} s), divided as the samples of one instance's profile are.
The profiler itself makes a purchase dearer: for its cost, see \`npx lockstep bench\`.`,
      zh: `${rung} 一次下单的 CPU 时间（内核统计，${instances} 个实例，${seconds} 秒里 ${purchases} 次下单），
按一个实例的采样结果分摊。采样本身会让下单变贵：真实代价看 \`npx lockstep bench\`。`,
    },
    faultsText(result),
  ];
}
