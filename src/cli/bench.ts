import type { Connections } from '../connections/connections.ts';
import { select } from '../connections/mysql.ts';
import { type Benchmark, benchmark, type Measured } from '../lab/benchmarks/purchase-benchmark.ts';
import { defaultShape } from '../lab/environment/lab.ts';
import { withConnections } from '../lab/environment/lab-connections.ts';
import { withLab } from '../lab/environment/session.ts';
import { writeFolder } from '../lab/report/folder.ts';
import { plainTable } from '../lab/report/tables.ts';
import { openRung } from '../ladder/open-rung.ts';
import { json, whole } from './options.ts';
import {
  type AddCommand,
  atLeast,
  type JsonOption,
  type Place,
  print,
  progress,
  setExitCode,
} from './output.ts';

/** The least share of the no-op's rate that the purchase path should have. */
const targetRatio = 0.6;

type BenchOptions = JsonOption & Pick<Benchmark, 'seconds' | 'connections'>;

export const addBench: AddCommand = (program, place) =>
  program
    .command('bench')
    .description(
      'compare a purchase with an authenticated no-op, through the same nginx (needs wrk)',
    )
    .option('--seconds <n>', 'how long each of the two is measured, three times', whole(1, 120), 5)
    .option('--connections <n>', 'connections that send requests at once', whole(1, 1_000), 128)
    .addOption(json())
    .action((options: BenchOptions) => bench(place, options));

async function bench(
  { labFolder, runsFolder }: Place,
  { json, ...load }: BenchOptions,
): Promise<void> {
  const result = await withLab(labFolder, progress, (lab, signal) =>
    withConnections(lab, async (connections) => {
      await lab.ensure({ ...defaultShape, settings: { HISTORY_FOLDER: '' } });
      const { TOKEN_SECRET: tokenSecret } = connections.config;
      const { queue } = await openRung('lua-stream', connections, { onReleaseFailed: () => {} });
      const depth = async () => queue?.depth() ?? Number.NaN;
      const { instances } = defaultShape;
      const recorded = (voucherId: string) => countConfirmed(connections, voucherId);
      return benchmark(
        {
          ...load,
          baseUrl: lab.baseUrl,
          tokenSecret,
          instances,
          depth,
          recorded,
          folder: labFolder,
          signal,
        },
        progress,
      );
    }),
  );
  const folder = writeFolder(runsFolder, 'bench', {
    'bench.json': result,
    'report.txt': text(result),
  });
  print(json, result, () => `${text(result)}\n\nreport: ${folder}/report.txt`);
  const isClean = result.faults.length === 0;
  setExitCode([atLeast(result.ratio, targetRatio), isClean ? 'yes' : 'no']);
}

async function countConfirmed(connections: Connections, voucherId: string): Promise<number> {
  const [row] = await select<{ count: string | number }>(
    connections.mysql(),
    "SELECT COUNT(*) AS count FROM orders WHERE voucher_id = ? AND status = 'confirmed'",
    [voucherId],
  );
  return Number(row?.count ?? Number.NaN);
}

function text({ faults, ...result }: Benchmark): string {
  const { seconds, connections, rounds, noop, purchase, ratio, drain } = result;
  const row = (name: string, { requestsPerSecond, p50Ms, p99Ms, refused, broken }: Measured) => [
    name,
    String(requestsPerSecond),
    p50Ms.toFixed(1),
    p99Ms.toFixed(1),
    String(refused),
    String(broken),
  ];
  const head = ['POST', 'requests/s', 'p50 ms', 'p99 ms', 'refused', 'broken'];
  return `
${plainTable(head, [row('no-op', noop), row('purchase (lua-stream)', purchase)])}

purchase ÷ no-op = ${ratio} (target: ≥ ${targetRatio})
queue: at most ${drain.deepest} orders deep; MySQL had the last order ${drain.lagMs} ms after the load
Median of ${rounds} rounds of ${seconds} s, wrk with ${connections} connections,
${defaultShape.instances} instances, order workers running
${faults.length > 0 ? `the figures do NOT count: ${faults.join('; ')}` : 'every request was accepted, and every order recorded'}`;
}
