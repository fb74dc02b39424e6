import { beginCpuPeriod } from '../lab/benchmarks/cpu-by-role.ts';
import { labProcesses } from '../lab/benchmarks/lab-processes.ts';
import {
  benchmarkLocks,
  type LockCost,
  lockTarget,
  shareOfFloor,
} from '../lab/benchmarks/lock-benchmark.ts';
import { machineTime, otherShare } from '../lab/benchmarks/other-work.ts';
import {
  missingForRedisson,
  openRedisson,
  type Redisson,
} from '../lab/benchmarks/redisson-cycles.ts';
import { spreadOfKnown } from '../lab/benchmarks/spread.ts';
import type { Lab } from '../lab/environment/lab.ts';
import { withConnections } from '../lab/environment/lab-connections.ts';
import { databaseOf, withLab } from '../lab/environment/session.ts';
import { otherWorkText, targetsText } from '../lab/report/bench-text.ts';
import { writeFolder } from '../lab/report/folder.ts';
import { describeRun, runText } from '../lab/report/measured-run.ts';
import { plainTable } from '../lab/report/tables.ts';
import { wrap } from '../lab/report/wrap.ts';
import { json } from './options.ts';
import {
  type AddCommand,
  type JsonOption,
  type Place,
  print,
  progress,
  setExitCode,
} from './output.ts';

const answerTo = { met: 'yes', unclear: 'yes', missed: 'no', unknown: 'unknown' } as const;

export const addBenchLocks: AddCommand = (program, place) =>
  program
    .command('bench-locks')
    .description('measure the cost of each lock, alone and with fifty contenders')
    .addOption(json())
    .action((options: JsonOption) => benchLocks(place, options));

async function benchLocks({ labFolder, runsFolder }: Place, { json }: JsonOption): Promise<void> {
  const missing = missingForRedisson();
  if (missing !== null) console.error(missingText(missing));
  const { costs, otherWork } = await withLab(labFolder, progress, (lab, _, untilInterrupted) => {
    const measuring = withConnections(onLockMaster(lab), async (connections) => {
      const redisson = missing === null ? await openRedisson(connections.config.REDIS_URL) : null;
      const endPeriod = beginPeriod(lab, redisson);
      try {
        const costs = await benchmarkLocks(connections, redisson, progress);
        return { costs, otherWork: endPeriod() };
      } finally {
        redisson?.close();
      }
    });
    return untilInterrupted(measuring);
  });
  const table = [
    text(costs),
    otherWorkText(spreadOfKnown([otherWork])),
    ...(missing === null ? [] : [missingText(missing)]),
  ].join('\n\n');
  const report = `${table}\n\n${runText(await describeRun('npx lockstep bench-locks', databaseOf(labFolder)))}`;
  const markdown = `# The cost of each lock\n\n\`npx lockstep bench-locks\`\n\n\`\`\`text\n${report}\n\`\`\`\n`;
  const folder = writeFolder(runsFolder, 'bench-locks', {
    'costs.json': costs,
    'report.md': markdown,
    'report.txt': report,
  });
  print(json, costs, () => `\n${report}\n\n${wrap(`report: ${folder}/report.md`)}`);
  setExitCode([answerTo[lockTarget(costs).answer]]);
}

/** @returns its end, with the share of the machine's CPU time that other work had. */
function beginPeriod(lab: Lab, redisson: Redisson | null): () => number | null {
  const client = redisson ? [{ role: 'load' as const, pid: redisson.pid }] : [];
  const endPeriod = beginCpuPeriod(() => [...labProcesses(lab), ...client]);
  const before = machineTime();
  return () => otherShare(before, machineTime(), endPeriod());
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
    shareOfFloor(costs, lock)?.median.toFixed(2) ?? '–',
    alone.p99Ms.toFixed(2),
    contended ? String(contended.cyclesPerSecond) : '–',
    contended?.p99Ms.toFixed(1) ?? '–',
    contended?.commandsPerCycle.toFixed(1) ?? '–',
  ]);
  return `${plainTable(['lock', 'alone/s', '÷ floor', 'p99', '50 at once/s', 'p99', 'commands'], rows)}

alone/s       cycles (acquire, release) per second, one after the other; p99 in ms
÷ floor       the share of two raw script calls, of each round; SET and DEL cost less
50 at once/s  cycles per second with fifty contenders; p99 of their wait, in ms
commands      sent to Redis for each of these cycles

${targetsText([lockTarget(costs)])}`;
}
