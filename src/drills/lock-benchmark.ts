/** What a lock costs: cycles of taking it and giving it back, alone and with fifty who want it, all in one run. */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { Mutex as SemaphoreMutex } from 'redis-semaphore';
import type { Connections } from '../connections/connections.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { ladder, type Rung, rungNames } from '../ladder.ts';
import type { Lock, LockModule } from '../locks/lock.ts';

export interface LockCost {
  readonly lock: string;
  /** One after the other, nobody else there. */
  readonly alone: { readonly cyclesPerSecond: number; readonly p99Ms: number };
  /** Fifty at once; p99 of the wait for the lock. */
  readonly crowded: {
    readonly cyclesPerSecond: number;
    readonly p99Ms: number;
    readonly commandsPerCycle: number;
  };
}

/** Takes a lock and gives it back once; tells how long it waited for it. */
type Cycle = (resource: string) => Promise<number>;

const warmUpMs = 500;
const measureMs = 1_500;
const crowd = 50;
const waitMs = 60_000;

/** The floor: the two scripts that any such lock must send, and nothing else. */
const floor = 'two raw scripts (the floor)';

export async function benchmarkLocks(
  connections: Connections,
  tell: (event: string) => void,
): Promise<LockCost[]> {
  const costs: LockCost[] = [];
  for (const [lock, cycle] of Object.entries(await openAll(connections))) {
    tell(`measuring ${lock} …`);
    await repeat(cycle, 1, warmUpMs, `warm-up:${lock}`);
    const alone = await repeat(cycle, 1, measureMs, `alone:${lock}`);
    const before = await commandsSent(connections);
    const crowded = await repeat(cycle, lock === floor ? 1 : crowd, measureMs, `crowded:${lock}`);
    const commandsPerCycle = ((await commandsSent(connections)) - before) / crowded.cycles;
    costs.push({
      lock,
      alone: { cyclesPerSecond: alone.perSecond, p99Ms: alone.cycleP99Ms },
      crowded: { cyclesPerSecond: crowded.perSecond, p99Ms: crowded.waitP99Ms, commandsPerCycle },
    });
  }
  return costs;
}

async function openAll(connections: Connections): Promise<Record<string, Cycle>> {
  const cycles: Record<string, Cycle> = {
    [floor]: rawScripts(connections),
    'redis-semaphore (Mutex)': semaphore(connections),
  };
  const opened = new Set<LockModule>();
  for (const rung of rungNames) {
    const { locked, lockInside, lock }: Rung = ladder[rung];
    if (!locked || lockInside) continue;
    const module = await lock();
    if (opened.has(module)) continue; // The rungs of the process mutex share one.
    opened.add(module);
    cycles[rung] = cycleOf(module.open(connections));
  }
  await connections.ready();
  return cycles;
}

const cycleOf =
  (lock: Lock): Cycle =>
  async (resource) => {
    const askedAt = performance.now();
    const lease = await lock.acquire(resource, { waitMs });
    const waitedMs = performance.now() - askedAt;
    await lease?.release();
    return waitedMs;
  };

function rawScripts(connections: Connections): Cycle {
  const redis = connections.redis('lock');
  const [acquire, release] = [loadScript('acquire-reentrant'), loadScript('release-reentrant')];
  let latch = 0;
  return async (resource) => {
    const askedAt = performance.now();
    await runScript(redis, acquire, [resource], ['30000', 'floor']);
    const waitedMs = performance.now() - askedAt;
    latch += 1;
    await runScript(
      redis,
      release,
      [resource, `${resource}:channel`, `${resource}:latch:${latch}`],
      ['0', '30000', 'floor', '1000'],
    );
    return waitedMs;
  };
}

function semaphore(connections: Connections): Cycle {
  const redis = connections.redis('lock');
  return async (resource) => {
    const mutex = new SemaphoreMutex(redis, resource, { acquireTimeout: waitMs });
    const askedAt = performance.now();
    await mutex.acquire();
    const waitedMs = performance.now() - askedAt;
    await mutex.release();
    return waitedMs;
  };
}

async function repeat(cycle: Cycle, workers: number, forMs: number, resource: string) {
  const [cycles, waits] = [createHistogram(), createHistogram()];
  const startedAt = performance.now();
  const work = async () => {
    while (performance.now() - startedAt < forMs) {
      const from = performance.now();
      record(waits, await cycle(resource));
      record(cycles, performance.now() - from);
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  const seconds = (performance.now() - startedAt) / 1_000;
  return {
    cycles: cycles.count,
    perSecond: Math.round(cycles.count / seconds),
    cycleP99Ms: p99(cycles),
    waitP99Ms: p99(waits),
  };
}

const record = (histogram: RecordableHistogram, ms: number): void =>
  histogram.record(Math.max(1, Math.round(ms * 1_000)));
const p99 = (histogram: RecordableHistogram): number => Math.round(histogram.percentile(99) / 10) / 100;

/** Of all Redis servers together; a lock that asks nobody sends none. */
async function commandsSent(connections: Connections): Promise<number> {
  const servers = [connections.redis('lock'), ...connections.redlockMasters()];
  const counts = servers.map(async (redis) => {
    const stats = await redis.info('commandstats');
    const calls = [
      ...stats.matchAll(/cmdstat_(?:set|del|get|eval|evalsha|subscribe|unsubscribe):calls=(\d+)/g),
    ];
    return calls.reduce((sum, [, count]) => sum + Number(count), 0);
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}
