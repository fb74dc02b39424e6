/** `bench`: the cost of a purchase, in one of its modes. */
import { z } from 'zod';
import { benchmarkBeside, besideReport } from '../lab/benchmarks/beside-benchmark.ts';
import { benchmarkBuckets, bucketsReport } from '../lab/benchmarks/bucket-benchmark.ts';
import { flameGraph } from '../lab/benchmarks/cpu-profile.ts';
import { benchmarkFlood, floodReport } from '../lab/benchmarks/flood-benchmark.ts';
import {
  benchmarkGrowth,
  growthReport,
  refuseManyByHttp,
} from '../lab/benchmarks/growth-benchmark.ts';
import { type Bench, type BenchLoad, withBench } from '../lab/benchmarks/measure.ts';
import { type OtherService, readOtherService } from '../lab/benchmarks/other-service.ts';
import { benchmarkProfile, profileReport } from '../lab/benchmarks/profile-benchmark.ts';
import { benchmarkPurchase, purchaseReport } from '../lab/benchmarks/purchase-benchmark.ts';
import { benchmarkQueues, queuesReport } from '../lab/benchmarks/queue-benchmark.ts';
import { benchmarkRates, ratesReport } from '../lab/benchmarks/rate-benchmark.ts';
import { benchmarkRungs, rungsReport } from '../lab/benchmarks/rung-benchmark.ts';
import { saturate, saturationReport } from '../lab/benchmarks/saturation.ts';
import {
  type BenchmarkResult,
  fallen,
  type RecordedFigures,
  readRecordedFigures,
} from '../lab/benchmarks/targets.ts';
import { benchmarkWaiting, waitingReport } from '../lab/benchmarks/waiting-benchmark.ts';
import { json, knownRung, language } from '../lab/commands/options.ts';
import { commandRow, commandText } from '../lab/commands/row.ts';
import type { OwnReport } from '../lab/report/experiment-report.ts';
import { fileLine } from '../lab/report/file-words.ts';
import { textReport } from '../lab/report/folder.ts';
import { type MeasuredRun, measuredRun, runText } from '../lab/report/machine.ts';
import { blocksText } from '../lab/report/table.ts';
import type { Bilingual } from '../lab/stage/result.ts';
import type { Experiment } from '../lab/stage/stage.ts';
import type { Block } from '../lab/stage/table.ts';
import { instancesByDefault } from '../service/config.ts';
import { type RungName, rungNames } from '../service/ladder/rungs.ts';
import { flag, wholeNumber } from '../service/operate/words.ts';
import type { Language } from '../texts/texts.ts';
import { command } from './command.ts';
import { playExperiment } from './play.ts';

/** What the command line may say for a mode; each mode has its own defaults. */
interface Wanted {
  readonly rung?: RungName | undefined;
  readonly rate?: number | undefined;
  /** For `waiting`: how many users are in the waiting room. */
  readonly line?: number | undefined;
}

interface Mode {
  readonly seconds: number;
  readonly rounds: number;
  readonly run: (bench: Bench, wanted: Wanted) => Promise<Measurement>;
}

interface Measurement {
  readonly result: BenchmarkResult;
  readonly report: readonly Block[];
  /** More files for its folder, by name. */
  readonly files?: Readonly<Record<string, string>>;
}

const measuring =
  <Result extends BenchmarkResult>(
    measure: (bench: Bench, wanted: Wanted) => Promise<Result>,
    report: (result: Result) => readonly Block[],
  ): Mode['run'] =>
  async (bench, wanted) => {
    const result = await measure(bench, wanted);
    return { result, report: report(result) };
  };

/** The words after `bench`, and what each measures. */
const words = {
  saturate: {
    en: 'the highest rate of an open model (needs k6)',
    zh: '开放模型下的最高速率（需要 k6）',
    seconds: 5,
    rounds: 1,
    run: measuring(
      (bench, { rung = 'lua-stream', rate }) => saturate(bench, rung, rate),
      saturationReport,
    ),
  },
  rates: {
    en: 'the cost at low rates, and of instances that have just started',
    zh: '低速率时、实例刚启动时的代价',
    seconds: 3,
    rounds: 1,
    run: measuring(benchmarkRates, ratesReport),
  },
  profile: {
    en: 'where an instance spends its time, with a flame graph',
    zh: '一个实例的时间花在哪里，带火焰图',
    seconds: 10,
    rounds: 1,
    run: async (bench, { rung = 'lua-stream' }) => {
      const { result, tree } = await benchmarkProfile(bench, rung);
      const files = { 'flame-graph.svg': flameGraph(tree) };
      return { result, report: profileReport(result), files };
    },
  },
  buckets: {
    en: 'a hot voucher on several masters',
    zh: '热门券分到几个主节点上',
    seconds: 4,
    rounds: 5,
    run: measuring(benchmarkBuckets, bucketsReport),
  },
  queues: {
    en: 'how fast each queue drains, beside BullMQ',
    zh: '每种队列消费得多快，和 BullMQ 相比',
    seconds: 5,
    rounds: 3,
    run: measuring((bench) => benchmarkQueues(bench), queuesReport),
  },
  flood: {
    en: 'purchases beside a flood of other requests',
    zh: '别的请求涌进来时的购买',
    seconds: 6,
    rounds: 1,
    run: measuring((bench, { rate = 3_000 }) => benchmarkFlood(bench, rate), floodReport),
  },
  waiting: {
    en: 'a rush on a sale with a waiting room, and without',
    zh: '抢购，有等候室和没有等候室',
    seconds: 6,
    rounds: 1,
    run: measuring(
      (bench, { rung = 'lua-stream', rate = 1_000, line = 100_000 }) =>
        benchmarkWaiting(bench, rung, rate, line),
      waitingReport,
    ),
  },
} satisfies Record<string, Mode & Bilingual>;

type Word = keyof typeof words;
const hows = Object.keys(words) as Word[];
const howText: Bilingual = {
  en: hows.map((how) => `${how}: ${words[how].en}`).join('; '),
  zh: hows.map((how) => `${how}：${words[how].zh}`).join('；'),
};

interface Choice extends Wanted {
  readonly how: Word | undefined;
  readonly ladder: boolean;
  readonly orders: number | undefined;
  /** The file that describes the other service. */
  readonly beside: string | undefined;
  /** Of orders: without HTTP. */
  readonly byScript: boolean;
}

interface NamedMode extends Mode {
  /** Of its folder in runs/. */
  readonly name: string;
}

const purchase: NamedMode = {
  name: 'bench',
  seconds: 4,
  rounds: 5,
  run: measuring(benchmarkPurchase, purchaseReport),
};

const rungs = (
  name: string,
  names: readonly RungName[],
  seconds: number,
  rounds: number,
): NamedMode => ({
  name,
  seconds,
  rounds,
  run: measuring((bench) => benchmarkRungs(bench, names), rungsReport),
});

function growth(orders: number, byScript: boolean): NamedMode {
  if (!byScript) refuseManyByHttp(orders);
  return {
    name: byScript ? 'bench-orders-by-script' : 'bench-orders',
    seconds: 2,
    rounds: 1,
    run: measuring(
      (bench, { rung = 'lua-stream' }) => benchmarkGrowth(bench, rung, orders, byScript),
      growthReport,
    ),
  };
}

const beside = (other: OtherService): NamedMode => ({
  name: 'bench-beside',
  seconds: 4,
  rounds: 5,
  run: measuring((bench) => benchmarkBeside(bench, other), besideReport),
});

/** `bench` alone, or with a word or an option that chooses another one. */
function modeOf({ how, rung, ladder, orders, byScript, beside: file }: Choice): NamedMode {
  if (file !== undefined) return beside(readOtherService(file));
  if (how) return { name: `bench-${how}`, ...words[how] };
  if (orders !== undefined) return growth(orders, byScript);
  if (ladder) return rungs('bench-ladder', rungNames, 2, 2);
  return rung ? rungs('bench-rung', [rung], 4, 5) : purchase;
}

const benchRow = commandRow({
  name: 'bench',
  about: {
    en: 'the cost of a purchase, beside requests that do less (needs wrk)',
    zh: '一次购买的代价，和做得更少的请求相比（需要 wrk）',
  },
  arguments: { how: { schema: z.enum(hows).optional(), ...howText } },
  options: {
    ladder: {
      schema: flag,
      en: 'every rung under the same load, in short rounds',
      zh: '每个方案压同样的量，每轮很短',
      conflicts: ['rung', 'orders'],
    },
    rung: {
      schema: knownRung.optional(),
      value: '<name>',
      en: 'one rung of the ladder',
      zh: '只测一个方案',
    },
    orders: {
      schema: wholeNumber(10_000, 10_000_000).optional(), // What a voucher may have in stock.
      en: 'one voucher with this many orders',
      zh: '一张有这么多订单的券',
    },
    beside: {
      schema: z.string().optional(),
      value: '<file>',
      en: 'another service, which this JSON file describes, in turns',
      zh: '和这个 JSON 文件描述的另一个服务轮流测',
      conflicts: ['rung', 'ladder', 'orders', 'rate'],
    },
    rate: {
      schema: wholeNumber(1, 50_000).optional(),
      en: 'of saturate: the first requests/s that it tries; of flood: purchases/s; of waiting: users/s',
      zh: 'saturate：从每秒多少请求试起；flood：每秒多少次购买；waiting：每秒多少用户',
    },
    line: {
      schema: wholeNumber(1, 1_000_000).optional(),
      en: 'for waiting: how many users wait (by default 100000)',
      zh: 'waiting：多少用户在排队（默认 100000）',
    },
    seconds: {
      schema: wholeNumber(1, 120).optional(),
      en: 'how long each load lasts (by default 2 to 10)',
      zh: '每次压测多少秒（默认 2 到 10）',
    },
    rounds: {
      schema: wholeNumber(1, 100).optional(),
      en: 'how often each is measured (by default 1, 2, 3 or 5); 1 judges no target',
      zh: '每项测几轮（默认 1、2、3 或 5）；只测 1 轮不判断目标',
    },
    gate: {
      schema: z.string().optional(),
      value: '<file>',
      en: 'fail where a figure fell behind this bench.json, beyond its spread',
      zh: '有数字比这个 bench.json 差、且超出波动，就算失败',
    },
    byScript: {
      schema: flag,
      en: 'with --orders: call the script of lua-stream directly, without HTTP',
      zh: '和 --orders 一起用：不走 HTTP，直接调 lua-stream 的脚本',
      conflicts: ['rung', 'ladder'],
      implies: { orders: 1_000_000 },
    },
    connections: {
      schema: wholeNumber(1, 1_000).default(128),
      en: 'requests at once',
      zh: '并发请求数',
    },
    instances: {
      schema: wholeNumber(1, 64).default(instancesByDefault()),
      en: 'API processes (by default as many as cores, like a deployment)',
      zh: 'API 进程数（默认和部署时一样，等于核数）',
    },
    language,
    json,
  },
});

export const addBench = command(benchRow, (folders, given) => {
  const mode = modeOf(given);
  const recorded: RecordedFigures =
    given.gate === undefined ? new Map() : readRecordedFigures(given.gate);
  const { seconds = mode.seconds, rounds = mode.rounds, connections, instances } = given;
  return playExperiment(folders, given, {
    name: mode.name,
    experiment: experimentOf(mode, recorded, given),
    options: { seconds, rounds, connections, instances },
    command: commandText(benchRow, given),
    isOnLabDatabase: true,
    report: (measured, about) => benchReport(measured, measuredRun(about), given.language),
  });
});

/** A target is a goal: missed, it is marked, and no failure. @param recorded what it may not fall behind */
const experimentOf = (
  { name, run }: NamedMode,
  recorded: RecordedFigures,
  wanted: Wanted,
): Experiment<BenchLoad, Measurement> => ({
  about: { en: `${name}: what it costs`, zh: `${name}：代价是多少` },
  play: async (stage, load) => {
    const measured = await withBench(stage, load, (bench) => run(bench, wanted));
    const { targets, faults } = measured.result;
    const reasons = [...fallen(targets, recorded), ...faults].map((en) => ({ en, zh: en }));
    const verdict = reasons.length > 0 ? 'violated' : 'held';
    return { verdict, reasons, figures: {}, facts: [], own: measured };
  },
});

function benchReport(
  { result, report: blocks, files }: Measurement,
  run: MeasuredRun,
  language: Language,
): OwnReport {
  const all = [...blocks, runText(run)];
  const shown = blocksText(all, language);
  return {
    files: {
      'bench.json': { ...run, ...result },
      ...textReport(run.command, blocksText(all), shown, language),
      ...files,
    },
    data: () => result,
    text: (folder) =>
      `\n${shown}\n\n${fileLine('report', `${folder}/${language === 'en' ? 'report.txt' : 'report.md'}`, language)}`,
  };
}
