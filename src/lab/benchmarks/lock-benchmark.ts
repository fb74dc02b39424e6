/** The cost of each lock: cycles of acquire and release, alone and with fifty contenders. */

import { tracingChannel } from 'node:diagnostics_channel';
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { Mutex as SemaphoreMutex } from 'redis-semaphore';
import type { Connections } from '../../service/connections/connections.ts';
import { loadScript, runScript } from '../../service/connections/scripts.ts';
import { serviceError } from '../../service/errors.ts';
import { lockFactories } from '../../service/ladder/factories.ts';
import type { Lock } from '../../service/locks/lock.ts';
import type { Progress } from '../environment/lab.ts';
import type { Table } from '../stage/result.ts';
import { tableOf } from '../stage/table.ts';
import { type Redisson, redissonLock } from './redisson-cycles.ts';
import { type JudgedTarget, judgeTarget, type Spread, spreadOfKnown } from './targets.ts';

/** Acquires a lock. @returns what releases it */
type Acquire = (resource: string) => Promise<() => Promise<unknown>>;

/** The floor: only the two scripts that every such lock must send. */
export const floor = 'two raw scripts (the floor)';

const waitMs = 60_000;

/** By name, the floor first. */
async function openLocks(connections: Connections): Promise<Record<string, Acquire>> {
  const locks: Record<string, Acquire> = {
    [floor]: rawScripts(connections),
    'redis-semaphore (Mutex)': semaphore(connections),
  };
  for (const [rung, open] of lockFactories()) locks[rung] = acquireOf(open(connections));
  await connections.ready();
  return locks;
}

const acquireOf =
  (lock: Lock): Acquire =>
  async (resource) => {
    const lease = await lock.acquire(resource, { waitMs });
    if (!lease) throw serviceError('DEADLINE_PASSED', `the lock on ${resource}`, waitMs);
    return () => lease.release();
  };

/** The two scripts of the reentrant lock and the removal of its latch, without the lock. */
function rawScripts(connections: Connections): Acquire {
  const redis = connections.redis('lock');
  const acquire = loadScript('locks/acquire-reentrant');
  const release = loadScript('locks/release-reentrant');
  let releases = 0;
  return async (resource) => {
    await runScript(redis, acquire, [resource], ['30000', 'floor']);
    return async () => {
      releases += 1;
      const latch = `${resource}:latch:${releases}`;
      const keys = [resource, `${resource}:channel`, latch];
      await runScript(redis, release, keys, ['0', '30000', 'floor', '3000']);
      redis.del(latch).catch(() => {});
    };
  };
}

function semaphore(connections: Connections): Acquire {
  const redis = connections.redis('lock');
  return async (resource) => {
    const mutex = new SemaphoreMutex(redis, resource, { acquireTimeout: waitMs });
    await mutex.acquire();
    return () => mutex.release();
  };
}

interface Round {
  readonly cyclesPerSecond: number;
  readonly p99Ms: number;
}

interface Contended extends Round {
  readonly commandsPerCycle: number;
}

export interface LockCost {
  readonly lock: string;
  /** One cycle after the other, without contention: the round with the middle rate. */
  readonly alone: Round;
  /** Cycles per second of every round. */
  readonly rounds: readonly number[];
  /**
   * Fifty contenders; p99 of the wait for the lock. Absent for the floor, which is no lock, and for
   * Redisson.
   */
  readonly contended?: Contended;
}

const warmUpMs = 500;
const aloneMs = 600;
/** All locks are measured in every round, so that other load on the machine hits all of them. */
const rounds = 5;
const contendedMs = 1_500;
const contenders = 50;

export async function benchmarkLocks(
  connections: Connections,
  redisson: Redisson | null,
  progress: Progress,
): Promise<LockCost[]> {
  const commandsSent = countCommands();
  const locks = await openLocks(connections);
  // The first lock that is measured must not pay for the warm-up.
  await repeat(rawScripts(connections), 1, warmUpMs * 4, 'warm-up');
  for (const [lock, acquire] of Object.entries(locks))
    await repeat(acquire, 1, warmUpMs, `warm-up:${lock}`);
  await redisson?.repeat('warm-up:redisson', warmUpMs * 4);
  const alone = await measureAlone(locks, redisson, progress);
  const costs: LockCost[] = [];
  for (const [lock, measured] of alone) {
    const rates = measured.map(({ cyclesPerSecond }) => cyclesPerSecond);
    const cost = { lock, alone: median(measured), rounds: rates };
    const acquire = locks[lock];
    if (lock === floor || !acquire) {
      costs.push(cost);
      continue;
    }
    progress({
      en: `${lock}: ${contenders} contenders …`,
      zh: `${lock}：${contenders} 个竞争者……`,
    });
    costs.push({ ...cost, contended: await measureContended(lock, acquire, commandsSent) });
  }
  return costs;
}

async function measureContended(
  lock: string,
  acquire: Acquire,
  commandsSent: () => number,
): Promise<Contended> {
  const before = commandsSent();
  const measured = await repeat(acquire, contenders, contendedMs, `contended:${lock}`);
  return {
    cyclesPerSecond: measured.perSecond,
    p99Ms: measured.waitP99Ms,
    commandsPerCycle: (commandsSent() - before) / measured.cycles,
  };
}

async function measureAlone(
  locks: Readonly<Record<string, Acquire>>,
  redisson: Redisson | null,
  progress: Progress,
): Promise<ReadonlyMap<string, readonly Round[]>> {
  const names = [...Object.keys(locks), ...(redisson ? [redissonLock] : [])];
  const measured = new Map<string, Round[]>(names.map((lock) => [lock, []]));
  for (let round = 1; round <= rounds; round++) {
    progress({
      en: `each lock alone, round ${round} of ${rounds} …`,
      zh: `每种锁，没有竞争，第 ${round} 轮，共 ${rounds} 轮……`,
    });
    for (const [lock, acquire] of Object.entries(locks)) {
      const { perSecond, cycleP99Ms } = await repeat(acquire, 1, aloneMs, `alone:${lock}`);
      measured.get(lock)?.push({ cyclesPerSecond: perSecond, p99Ms: cycleP99Ms });
    }
    const beside = await redisson?.repeat('alone:redisson', aloneMs);
    if (beside) measured.get(redissonLock)?.push(beside);
  }
  return measured;
}

/** The round with the middle rate. */
function median(all: readonly Round[]): Round {
  const sorted = all.toSorted((one, other) => one.cyclesPerSecond - other.cyclesPerSecond);
  return sorted[Math.floor(rounds / 2)] as Round;
}

/** Its cycles per second as a share of the floor's, of the same rounds. */
function shareOfFloor(costs: readonly LockCost[], lock: string): Spread | null {
  const roundsOf = (name: string) => costs.find((cost) => cost.lock === name)?.rounds ?? [];
  const ofFloor = roundsOf(floor);
  return spreadOfKnown(roundsOf(lock).map((rate, round) => rate / (ofFloor[round] ?? Number.NaN)));
}

/** A lock with a watchdog must not cost much more than the scripts that it sends. */
export function lockTarget(costs: readonly LockCost[]): JudgedTarget {
  const name = 'redis-reentrant ÷ floor, alone/s';
  const because = 'the rest is ours: owners, leases, the watchdog';
  const target = { name, atLeast: 0.85, because };
  return judgeTarget(target, shareOfFloor(costs, 'redis-reentrant'), rounds);
}

async function repeat(acquire: Acquire, workers: number, forMs: number, resource: string) {
  const cycles = createHistogram();
  const waits = createHistogram();
  const startedAt = performance.now();
  const work = async () => {
    while (performance.now() - startedAt < forMs) {
      const from = performance.now();
      const release = await acquire(resource);
      record(waits, performance.now() - from);
      await release();
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

/** The histograms count microseconds. */
const record = (histogram: RecordableHistogram, ms: number): void =>
  histogram.record(Math.max(1, Math.round(ms * 1_000)));
const p99 = (histogram: RecordableHistogram): number =>
  Math.round(histogram.percentile(99) / 10) / 100;

/** Counts the commands that this process sends; ioredis publishes each on a diagnostics channel. */
function countCommands(): () => number {
  let count = 0;
  tracingChannel('ioredis:command').start.subscribe(() => {
    count += 1;
  });
  return () => count;
}

export const lockTable = (costs: readonly LockCost[]): Table =>
  tableOf(
    '',
    costs,
    [
      [{ en: 'lock', zh: '锁' }, ({ lock }) => lock],
      [{ en: 'alone/s', zh: '无竞争/秒' }, ({ alone }) => alone.cyclesPerSecond],
      [
        { en: '÷ floor', zh: '÷ 基准' },
        ({ lock }) => shareOfFloor(costs, lock)?.median.toFixed(2) ?? '–',
      ],
      ['p99', ({ alone }) => alone.p99Ms.toFixed(2)],
      [
        { en: '50 at once/s', zh: '50 个竞争/秒' },
        ({ contended }) => contended?.cyclesPerSecond ?? '–',
      ],
      ['p99', ({ contended }) => contended?.p99Ms.toFixed(1) ?? '–'],
      [
        { en: 'commands', zh: '命令' },
        ({ contended }) => contended?.commandsPerCycle.toFixed(1) ?? '–',
      ],
    ],
    {
      legend: {
        'alone/s': {
          en: 'cycles (acquire, release) per second, one after the other; then their p99 in ms',
          zh: '没有竞争时每秒加锁、释放多少次；其后是 p99，单位 ms',
        },
        '÷ floor': {
          en: 'the share of two raw script calls, of each round; SET and DEL cost less',
          zh: '和直接调两个脚本相比，逐轮计算；SET 和 DEL 更便宜',
        },
        '50 at once/s': {
          en: 'cycles per second with fifty contenders; then the p99 of their wait, in ms',
          zh: '五十个竞争者时每秒多少次；其后是等锁时间的 p99，单位 ms',
        },
        commands: {
          en: 'sent to Redis for each of these cycles',
          zh: '每次加锁、释放发给 Redis 的命令数',
        },
      },
    },
  );
