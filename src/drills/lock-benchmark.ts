/** What a lock costs: cycles of taking it and giving it back, alone and with fifty who want it, all in one run. */
import { tracingChannel } from 'node:diagnostics_channel';
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { Connections } from '../connections/connections.ts';
import { type Cycle, floor, openCycles, rawScripts } from './lock-cycles.ts';

export interface LockCost {
  readonly lock: string;
  /** One after the other, nobody else there. */
  readonly alone: { readonly cyclesPerSecond: number; readonly p99Ms: number };
  /** Fifty at once; p99 of the wait for the lock. The floor excludes nobody, and has no such. */
  readonly crowded?: {
    readonly cyclesPerSecond: number;
    readonly p99Ms: number;
    readonly commandsPerCycle: number;
  };
}

const warmUpMs = 500;
const measureMs = 1_500;
const crowd = 50;

export async function benchmarkLocks(
  connections: Connections,
  tell: (event: string) => void,
): Promise<LockCost[]> {
  const costs: LockCost[] = [];
  const sent = countCommands();
  const opened = await openCycles(connections);
  await repeat(rawScripts(connections), 1, warmUpMs * 4, 'warm-up'); // The first to be measured must not pay for it.
  for (const [lock, cycle] of Object.entries(opened)) {
    tell(`measuring ${lock} …`);
    await repeat(cycle, 1, warmUpMs, `warm-up:${lock}`);
    const alone = await repeat(cycle, 1, measureMs, `alone:${lock}`);
    const cost = { lock, alone: { cyclesPerSecond: alone.perSecond, p99Ms: alone.cycleP99Ms } };
    if (lock === floor) {
      costs.push(cost);
      continue;
    }
    const before = sent();
    const { perSecond, waitP99Ms, cycles } = await repeat(cycle, crowd, measureMs, `crowded:${lock}`);
    const commandsPerCycle = (sent() - before) / cycles;
    costs.push({ ...cost, crowded: { cyclesPerSecond: perSecond, p99Ms: waitP99Ms, commandsPerCycle } });
  }
  return costs;
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
