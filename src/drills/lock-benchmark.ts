/** What a lock costs: cycles of taking it and giving it back, alone and with fifty who want it, all in one run. */
import { tracingChannel } from 'node:diagnostics_channel';
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
  const sent = countCommands();
  const cycles = await openAll(connections);
  await repeat(rawScripts(connections), 1, warmUpMs * 4, 'warm-up'); // The first to be measured must not pay for it.
  for (const [lock, cycle] of Object.entries(cycles)) {
    tell(`measuring ${lock} …`);
    await repeat(cycle, 1, warmUpMs, `warm-up:${lock}`);
    const alone = await repeat(cycle, 1, measureMs, `alone:${lock}`);
    const before = sent();
    const crowded = await repeat(cycle, lock === floor ? 1 : crowd, measureMs, `crowded:${lock}`);
    const commandsPerCycle = (sent() - before) / crowded.cycles;
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
  const locks: Record<string, Cycle> = {};
  const opened = new Set<LockModule>();
  for (const rung of rungNames.toReversed()) {
    const { locked, lockInside, lock }: Rung = ladder[rung];
    if (!locked || lockInside) continue;
    const module = await lock();
    if (opened.has(module)) continue; // The rungs of the process mutex share one.
    opened.add(module);
    locks[rung] = cycleOf(module.open(connections));
  }
  await connections.ready();
  return { ...cycles, ...Object.fromEntries(Object.entries(locks).toReversed()) };
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

/** Counts what this process sends: ioredis tells every command. */
function countCommands(): () => number {
  let count = 0;
  tracingChannel('ioredis:command').start.subscribe(() => {
    count += 1;
  });
  return () => count;
}
