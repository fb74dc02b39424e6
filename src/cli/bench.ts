import { Argument, Option } from 'commander';
import { readRecordedFigures } from '../lab/benchmarks/recorded-figures.ts';
import { fallen, type RecordedFigures } from '../lab/benchmarks/targets.ts';
import { withBench } from '../lab/benchmarks/with-bench.ts';
import type { WorkFolders } from '../lab/environment/work-folders.ts';
import type { OwnReport } from '../lab/report/experiment-report.ts';
import { fileLine } from '../lab/report/file-words.ts';
import { textReport } from '../lab/report/folder.ts';
import { type MeasuredRun, measuredRun, runText } from '../lab/report/measured-run.ts';
import { blocksText } from '../lab/report/result-text.ts';
import type { Experiment } from '../lab/stage/experiment.ts';
import { instancesByDefault } from '../service/config.ts';
import { serviceError } from '../service/errors.ts';
import { isRungName, type RungName, rungNames } from '../service/ladder/rungs.ts';
import { type Choice, hows, type Measurement, type Mode, modeOf } from './bench-modes.ts';
import type { AddCommand } from './command.ts';
import { jsonOption, whole } from './options.ts';
import type { JsonOption } from './output.ts';
import { playExperiment } from './play.ts';

interface BenchOptions extends JsonOption, Choice {
  readonly seconds?: number;
  readonly rounds?: number;
  readonly connections: number;
  readonly instances: number;
  /** `bench.json` of an earlier run. */
  readonly gate?: string;
}

const noFigures: RecordedFigures = new Map();
const defaultConnections = 128;
/** What a voucher may have in stock. */
const mostOrders = 10_000_000;

const howText = Object.entries(hows)
  .map(([name, text]) => `${name}: ${text}`)
  .join('; ');

/** @throws UNKNOWN_RUNG, with the names of all rungs. */
function rungName(name: string): RungName {
  if (!isRungName(name)) throw serviceError('UNKNOWN_RUNG', name, rungNames);
  return name;
}

const byScript = () =>
  new Option('--by-script', 'with --orders: call the script of lua-stream directly, without HTTP')
    .conflicts(['rung', 'ladder'])
    .implies({ orders: 1_000_000 })
    .default(false);

export const addBench: AddCommand = (program, folders) =>
  program
    .command('bench')
    .description('the cost of a purchase, beside requests that do less (needs wrk)')
    .addArgument(new Argument('[how]', howText).choices(Object.keys(hows)))
    .option('--rung <name>', 'one rung of the ladder', rungName)
    .addOption(
      new Option('--ladder', 'every rung under the same load, in short rounds')
        .conflicts(['rung', 'orders'])
        .default(false),
    )
    .option('--orders <n>', 'one voucher with so many orders', whole(10_000, mostOrders))
    .addOption(byScript())
    .addOption(
      new Option(
        '--beside <file>',
        'another service, which this JSON file describes, in turns',
      ).conflicts(['rung', 'ladder', 'orders', 'rate']),
    )
    .option(
      '--rate <n>',
      'of saturate: the first requests/s that it tries; of flood: purchases/s; of waiting: users/s',
      whole(1, 50_000),
    )
    .option('--line <n>', 'of waiting: so many users wait (by default 100000)', whole(1, 1_000_000))
    .option('--seconds <n>', 'how long each load lasts (by default 2 to 10)', whole(1, 120))
    .option(
      '--rounds <n>',
      'how often each is measured (by default 1, 2, 3 or 5); 1 judges no target',
      whole(1, 100),
    )
    .option('--connections <n>', 'requests at once', whole(1, 1_000), defaultConnections)
    .option(
      '--instances <n>',
      'API processes (by default as many as cores, like a deployment)',
      whole(1, 64),
      instancesByDefault(),
    )
    .option('--gate <file>', 'fail where a figure fell behind this bench.json, beyond its spread')
    .addOption(jsonOption())
    .action((how: Choice['how'], options: BenchOptions) => bench(folders, { ...options, how }));

function bench(folders: WorkFolders, options: BenchOptions): Promise<void> {
  const mode = modeOf(options);
  const recorded = options.gate === undefined ? noFigures : readRecordedFigures(options.gate);
  const { seconds = mode.seconds, rounds = mode.rounds, connections, instances, json } = options;
  return playExperiment(folders, {
    ...{
      name: mode.name,
      experiment: measuring(mode, recorded),
      options: { seconds, rounds, connections, instances },
    },
    command: commandOf(options),
    ...{ times: 1, database: undefined, isOnLabDatabase: true, json },
    report: (measured, about) => benchReport(measured, measuredRun(about)),
  });
}

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

function benchReport({ result, report: blocks, files }: Measurement, run: MeasuredRun): OwnReport {
  const report = blocksText([...blocks, runText(run)]);
  return {
    files: { 'bench.json': { ...run, ...result }, ...textReport(run.command, report), ...files },
    data: () => result,
    text: (folder) => `\n${report}\n\n${fileLine('report', `${folder}/report.txt`)}`,
  };
}

function commandOf(chosen: BenchOptions): string {
  const { how, ladder, byScript, connections, instances, ...options } = chosen;
  const given = ['rung', 'orders', 'beside', 'rate', 'line', 'seconds', 'rounds', 'gate'] as const;
  return [
    'npx lockstep bench',
    ...(how ? [how] : []),
    ...(ladder ? ['--ladder'] : []),
    ...given.flatMap((name) => (options[name] === undefined ? [] : [`--${name} ${options[name]}`])),
    ...(byScript ? ['--by-script'] : []),
    ...(connections === defaultConnections ? [] : [`--connections ${connections}`]),
    ...(instances === instancesByDefault() ? [] : [`--instances ${instances}`]),
  ].join(' ');
}
