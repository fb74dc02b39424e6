/** `bench`: the cost of a purchase, in one of its modes. */
import { z } from 'zod';
import { readRecordedFigures } from '../lab/benchmarks/recorded-figures.ts';
import { fallen, type RecordedFigures } from '../lab/benchmarks/targets.ts';
import { withBench } from '../lab/benchmarks/with-bench.ts';
import { json, knownRung, language } from '../lab/commands/options.ts';
import { commandRow, commandText } from '../lab/commands/row.ts';
import type { OwnReport } from '../lab/report/experiment-report.ts';
import { fileLine } from '../lab/report/file-words.ts';
import { textReport } from '../lab/report/folder.ts';
import { type MeasuredRun, measuredRun, runText } from '../lab/report/measured-run.ts';
import { blocksText } from '../lab/report/table.ts';
import type { Experiment } from '../lab/stage/experiment.ts';
import { instancesByDefault } from '../service/config.ts';
import { flag, wholeNumber } from '../service/operate/words.ts';
import type { Language } from '../texts/texts.ts';
import { hows, howText, type Measurement, type Mode, modeOf } from './bench-modes.ts';
import { command } from './command.ts';
import { playExperiment } from './play.ts';

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

const noFigures: RecordedFigures = new Map();

export const addBench = command(benchRow, (folders, given) => {
  const mode = modeOf(given);
  const recorded = given.gate === undefined ? noFigures : readRecordedFigures(given.gate);
  const { seconds = mode.seconds, rounds = mode.rounds, connections, instances } = given;
  const { language, json } = given;
  return playExperiment(folders, {
    ...{ name: mode.name, experiment: measuring(mode, recorded) },
    options: { seconds, rounds, connections, instances },
    ...{ command: commandText(benchRow, given), times: 1, database: undefined },
    ...{ isOnLabDatabase: true, json, language },
    report: (measured, about) => benchReport(measured, measuredRun(about), language),
  });
});

interface Load {
  readonly seconds: number;
  readonly rounds: number;
  readonly connections: number;
  readonly instances: number;
}

/** A target is a goal: missed, it is marked, and no failure. @param recorded what it may not fall behind */
const measuring = (mode: Mode, recorded: RecordedFigures): Experiment<Load, Measurement> => ({
  about: { en: `${mode.name}: what it costs`, zh: `${mode.name}：代价是多少` },
  play: async (stage, { rounds, ...load }) => {
    const measured = await withBench(stage, load, (bench) => mode.run(bench, rounds));
    const { targets, faults } = measured.result;
    const reasons = [...fallen(targets, recorded), ...faults];
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
  const report = blocksText(all);
  return {
    files: { 'bench.json': { ...run, ...result }, ...textReport(run.command, report), ...files },
    data: () => result,
    text: (folder) =>
      `\n${blocksText(all, language)}\n\n${fileLine('report', `${folder}/report.txt`, language)}`,
  };
}
