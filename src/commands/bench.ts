import { saleKeys } from '../connections/sale-keys.ts';
import { type Benchmark, benchmark, type Measured } from '../drills/benchmark.ts';
import { defaultShape } from '../lab/lab.ts';
import { withLab } from '../lab/session.ts';
import { plainTable } from '../report/table.ts';
import { withConnections } from './lab-connections.ts';
import { type Place, type Reporting, report, tell } from './place.ts';

/** Below this share of the no-op's rate, the purchase path has lost its way. */
const leastRatio = 0.6;

export async function bench(
  { labFolder }: Place,
  { json, ...load }: Reporting & Pick<Benchmark, 'seconds' | 'connections'>,
): Promise<void> {
  const result = await withLab(labFolder, tell, (lab, signal) =>
    withConnections(lab, async (connections) => {
      await lab.ensure({ ...defaultShape, settings: { HISTORY_FOLDER: '' } });
      const { TOKEN_SECRET: tokenSecret } = connections.config;
      const depth = () => connections.redis('admin').xlen(saleKeys.orders);
      const { instances } = defaultShape;
      return benchmark(
        { ...load, baseUrl: lab.baseUrl, tokenSecret, instances, depth, folder: labFolder, signal },
        tell,
      );
    }),
  );
  report(json, result, () => text(result));
  process.exitCode = Number(result.ratio < leastRatio);
}

function text({ seconds, connections, rounds, noop, purchase, ratio, drain }: Benchmark): string {
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

purchase ÷ no-op = ${ratio} (at least ${leastRatio} is wanted)
drain: at most ${drain.deepest} orders waited; the last was in MySQL ${drain.lagMs} ms after the load ended
The middle of ${rounds} rounds of ${seconds} s, wrk with ${connections} connections,
${defaultShape.instances} instances, workers draining meanwhile`;
}
