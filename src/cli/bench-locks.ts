import { benchmarkLocks, type LockCost } from '../lab/benchmarks/lock-benchmark.ts';
import { floor } from '../lab/benchmarks/lock-cycles.ts';
import { missingForRedisson, openRedisson } from '../lab/benchmarks/redisson-cycles.ts';
import type { Lab } from '../lab/environment/lab.ts';
import { withConnections } from '../lab/environment/lab-connections.ts';
import { withLab } from '../lab/environment/session.ts';
import { writeFolder } from '../lab/report/folder.ts';
import { plainTable } from '../lab/report/tables.ts';
import { wrap } from '../lab/report/wrap.ts';
import { json } from './options.ts';
import {
  type AddCommand,
  atLeast,
  type JsonOption,
  type Place,
  print,
  progress,
  setExitCode,
} from './output.ts';

/** The least share of the two raw script calls that the reentrant lock should have. */
const targetShare = 0.85;

export const addBenchLocks: AddCommand = (program, place) =>
  program
    .command('bench-locks')
    .description('measure the cost of each lock, alone and with fifty contenders')
    .addOption(json())
    .action((options: JsonOption) => benchLocks(place, options));

async function benchLocks({ labFolder, runsFolder }: Place, { json }: JsonOption): Promise<void> {
  const missing = missingForRedisson();
  if (missing !== null) console.error(missingText(missing));
  const costs = await withLab(labFolder, progress, (lab) =>
    withConnections(onLockMaster(lab), async (connections) => {
      const redisson = missing === null ? await openRedisson(connections.config.REDIS_URL) : null;
      try {
        return await benchmarkLocks(connections, redisson, progress);
      } finally {
        redisson?.close();
      }
    }),
  );
  const table = [text(costs), ...(missing === null ? [] : [missingText(missing)])].join('\n\n');
  const markdown = `# The cost of each lock\n\n\`npx lockstep bench-locks\`\n\n\`\`\`text\n${table}\n\`\`\`\n`;
  const folder = writeFolder(runsFolder, 'bench-locks', {
    'costs.json': costs,
    'report.md': markdown,
    'report.txt': table,
  });
  print(json, costs, () => `\n${table}\n\n${wrap(`report: ${folder}/report.md`)}`);
  setExitCode([atLeast(shareOfFloor(costs, 'redis-reentrant'), targetShare)]);
}

const missingText = (what: string): string => `REDISSON IS MISSING, and has no row. Get ${what}`;

/**
 * On a Redis that does not sync every write to disk, as redis-main does: that would be measured
 * instead.
 */
function onLockMaster({ environment }: Lab): Pick<Lab, 'environment'> {
  const [first = ''] = (environment['REDLOCK_URLS'] ?? '').split(',');
  return { environment: { ...environment, REDIS_URL: first } };
}

function text(costs: readonly LockCost[]): string {
  const rows = costs.map(({ lock, alone, contended }) => [
    lock,
    String(alone.cyclesPerSecond),
    shareOfFloor(costs, lock).toFixed(2),
    alone.p99Ms.toFixed(2),
    contended ? String(contended.cyclesPerSecond) : '–',
    contended?.p99Ms.toFixed(1) ?? '–',
    contended?.commandsPerCycle.toFixed(1) ?? '–',
  ]);
  return `${plainTable(['lock', 'alone/s', '÷ floor', 'p99', '50 at once/s', 'p99', 'commands'], rows)}

alone/s       cycles (acquire, release) per second, one after the other; p99 in ms
÷ floor       alone/s as a share of two raw script calls; SET and DEL cost less
50 at once/s  cycles per second with fifty contenders; p99 of their wait, in ms
commands      sent to Redis for each of these cycles

redis-reentrant ÷ floor = ${shareOfFloor(costs, 'redis-reentrant').toFixed(2)} (target: ≥ ${targetShare})`;
}

function shareOfFloor(costs: readonly LockCost[], lock: string): number {
  const perSecond = (name: string) =>
    costs.find((cost) => cost.lock === name)?.alone.cyclesPerSecond ?? Number.NaN;
  return perSecond(lock) / perSecond(floor);
}
