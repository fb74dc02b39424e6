/** What a lock costs: cycles of taking it and giving it back, alone and with fifty who want it, all in one run. */
import { tracingChannel } from 'node:diagnostics_channel';
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { Connections } from '../../connections/connections.ts';
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
const aloneMs = 600;
/** All of them alone, so many times in turn: what else the machine does hits all alike. The middle one counts. */
const rounds = 5;
const crowdedMs = 1_500;
const crowd = 50;

export async function benchmarkLocks(
  connections: Connections,
  tell: (event: string) => void,
): Promise<LockCost[]> {
  const sent = countCommands();
  const opened = Object.entries(await openCycles(connections));
  await repeat(rawScripts(connections), 1, warmUpMs * 4, 'warm-up'); // The first to be measured must not pay for it.
  for (const [lock, cycle] of opened) await repeat(cycle, 1, warmUpMs, `warm-up:${lock}`);
  const alone = await aloneInTurn(opened, tell);
  const costs: LockCost[] = [];
  for (const [lock, cycle] of opened) {
    const cost = {
      lock,
      alone: alone.get(lock) ?? { cyclesPerSecond: Number.NaN, p99Ms: Number.NaN },
    };
    if (lock === floor) {
      costs.push(cost);
      continue;
    }
    tell(`${lock}: ${crowd} who want it …`);
    const before = sent();
    const { perSecond, waitP99Ms, cycles } = await repeat(
      cycle,
      crowd,
      crowdedMs,
      `crowded:${lock}`,
    );
    const commandsPerCycle = (sent() - before) / cycles;
    costs.push({
      ...cost,
      crowded: { cyclesPerSecond: perSecond, p99Ms: waitP99Ms, commandsPerCycle },
    });
  }
  return costs;
}

async function aloneInTurn(
  opened: readonly [lock: string, cycle: Cycle][],
  tell: (event: string) => void,
): Promise<Map<string, LockCost['alone']>> {
  const measured = new Map<string, LockCost['alone'][]>(opened.map(([lock]) => [lock, []]));
  for (let round = 1; round <= rounds; round++) {
    tell(`each alone, round ${round} of ${rounds} …`);
    for (const [lock, cycle] of opened) {
      const { perSecond, cycleP99Ms } = await repeat(cycle, 1, aloneMs, `alone:${lock}`);
      measured.get(lock)?.push({ cyclesPerSecond: perSecond, p99Ms: cycleP99Ms });
    }
  }
  const middle = (all: LockCost['alone'][]) =>
    all.toSorted((one, other) => one.cyclesPerSecond - other.cyclesPerSecond)[
      Math.floor(rounds / 2)
    ];
  return new Map(
    [...measured].flatMap(([lock, all]) => [[lock, middle(all) as LockCost['alone']] as const]),
  );
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
const p99 = (histogram: RecordableHistogram): number =>
  Math.round(histogram.percentile(99) / 10) / 100;

/** Counts what this process sends: ioredis tells every command. */
function countCommands(): () => number {
  let count = 0;
  tracingChannel('ioredis:command').start.subscribe(() => {
    count += 1;
  });
  return () => count;
}
