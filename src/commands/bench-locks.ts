import { benchmarkLocks, type LockCost } from '../drills/lock-benchmark.ts';
import { floor } from '../drills/lock-cycles.ts';
import type { Lab } from '../lab/lab.ts';
import { withLab } from '../lab/session.ts';
import { writeFolder } from '../report/folder.ts';
import { wrap } from '../report/sentences.ts';
import { plainTable } from '../report/table.ts';
import { withConnections } from './lab-connections.ts';
import { type Place, type Reporting, report, tell } from './place.ts';

/** Below this share of the two script calls, the reentrant lock does more than it must. */
const leastShare = 0.85;

export async function benchLocks({ labFolder, runsFolder }: Place, { json }: Reporting): Promise<void> {
  const costs = await withLab(labFolder, tell, (lab) =>
    withConnections(onLockMaster(lab), (connections) => benchmarkLocks(connections, tell)),
  );
  const table = text(costs);
  const markdown = `# What each lock costs\n\n\`npx lockstep bench-locks\`\n\n\`\`\`text\n${table}\n\`\`\`\n`;
  const folder = writeFolder(runsFolder, 'bench-locks', { 'costs.json': costs, 'report.md': markdown });
  process.exitCode = Number(!(shareOfFloor(costs, 'redis-reentrant') >= leastShare));
  report(json, costs, () => `\n${table}\n\n${wrap(`report: ${folder}/report.md`)}`);
}

/** All on a Redis of the same kind: redis-main syncs every write to disk, which would be measured instead. */
function onLockMaster({ environment }: Lab): Pick<Lab, 'environment'> {
  const [first = ''] = (environment['REDLOCK_URLS'] ?? '').split(',');
  return { environment: { ...environment, REDIS_URL: first } };
}

function text(costs: readonly LockCost[]): string {
  const rows = costs.map(({ lock, alone, crowded }) => [
    lock,
    String(alone.cyclesPerSecond),
    shareOfFloor(costs, lock).toFixed(2),
    alone.p99Ms.toFixed(2),
    crowded ? String(crowded.cyclesPerSecond) : '–',
    crowded?.p99Ms.toFixed(1) ?? '–',
    crowded?.commandsPerCycle.toFixed(1) ?? '–',
  ]);
  return `${plainTable(['lock', 'alone/s', '÷ floor', 'p99', '50 at once/s', 'p99', 'commands'], rows)}

alone/s       taken and given back in a second, one after the other; p99 in ms
÷ floor       alone/s as a share of two raw script calls; SET and DEL cost less
50 at once/s  by fifty who want it all the time; p99 of their wait, in ms
commands      sent to Redis for each time that one of the fifty got it

redis-reentrant ÷ floor = ${shareOfFloor(costs, 'redis-reentrant').toFixed(2)} (at least ${leastShare} is wanted)`;
}

function shareOfFloor(costs: readonly LockCost[], lock: string): number {
  const perSecond = (name: string) =>
    costs.find((cost) => cost.lock === name)?.alone.cyclesPerSecond ?? Number.NaN;
  return perSecond(lock) / perSecond(floor);
}
