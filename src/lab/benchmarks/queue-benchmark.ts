/**
 * Every queue of the ladder, and BullMQ as an outsider, at one and a half times the load that
 * BullMQ records. The purchases come at this rate, however slowly the queue drains.
 */
import { queueRungs } from '../drills/accepted-is-not-sold.ts';
import { defaultShape } from '../environment/lab.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { outsiderNames, withOutsiders } from '../outsiders/with-outsiders.ts';
import { buySteadily, type Purchase, type Try } from '../workload/steady-purchases.ts';
import { faultsOfRecording } from './faults-of-figures.ts';
import {
  type Bench,
  countConfirmed,
  measureSale,
  putVoucherOnSale,
  settledCount,
} from './measure.ts';
import { type Spread, spreadOf } from './spread.ts';
import type { BenchmarkResult } from './targets.ts';

/** The outsider with its own times. */
const [bullmq] = outsiderNames;
const overload = 1.5;
const clients = 512;
const drainWithinMs = 60_000;

export interface QueueRow {
  readonly rung: string;
  readonly acceptedPerSecond: Spread;
  /** While the purchases came. */
  readonly recordedPerSecond: Spread;
  /** Accepted, and not in MySQL, when the last purchase was answered. */
  readonly waiting: Spread;
  /** From then until MySQL had all of them. */
  readonly drainSeconds: Spread;
}

export interface QueueBenchmark extends BenchmarkResult {
  /** Recorded by BullMQ in a second of a closed load. */
  readonly bullmqPerSecond: number;
  /** Purchases per second, of every queue. */
  readonly rate: number;
  readonly rounds: number;
  readonly rows: readonly QueueRow[];
}

export async function benchmarkQueues(
  bench: Bench,
  rounds: number,
  queues: readonly string[] = queueRungs,
): Promise<QueueBenchmark> {
  await import('../outsiders/outsiders.ts'); // This process must know their rows too.
  const { lab, load, progress } = bench;
  const { settings } = lab.shape;
  await lab.ensure({ ...defaultShape, settings: { ...settings, ...withOutsiders } });
  const rungs = [...queues, bullmq];
  progress('Warming up …');
  for (const rung of rungs) await overloaded(bench, rung, 100);
  const { recordedPerSecond } = await measureSale(bench, bullmq);
  const rate = Math.ceil(recordedPerSecond * overload);
  const runs = new Map<string, Run[]>(rungs.map((rung) => [rung, []]));
  for (let round = 1; round <= rounds; round++)
    for (const rung of rungs) {
      progress(`Round ${round} of ${rounds}: ${rung}, ${rate} purchases/s …`);
      runs.get(rung)?.push(await overloaded(bench, rung, rate));
    }
  const { seconds } = load;
  return {
    ...{ seconds, instances: lab.shape.instances, targets: [] },
    ...{ bullmqPerSecond: recordedPerSecond, rate, rounds },
    rows: rungs.map((rung) => rowOf(rung, runs.get(rung) ?? [])),
    faults: [...runs].flatMap(([rung, all]) => all.flatMap((run) => faultsOfRun(rung, run))),
  };
}

/** One load on one queue. */
export interface Run {
  readonly tries: readonly Pick<Try, 'outcome' | 'reason'>[];
  readonly seconds: number;
  /** In MySQL when the last purchase was answered, and in the end. */
  readonly recordedInTime: number;
  readonly recorded: number;
  readonly drainSeconds: number;
}

async function overloaded(bench: Bench, rung: string, rate: number): Promise<Run> {
  const { lab, connections, load, signal } = bench;
  signal.throwIfAborted();
  const due = rate * load.seconds;
  const voucherId = await putVoucherOnSale(bench, rung, due);
  const count = () => countConfirmed(connections, voucherId);
  const startedAt = performance.now();
  const tries = await buySteadily(purchases(voucherId, due), {
    ...{ baseUrl: lab.baseUrl, tokenSecret: connections.config.TOKEN_SECRET },
    ...{ purchasesPerSecond: rate, clients, repeats: false, giveUp: signal },
  });
  const endedAt = performance.now();
  const recordedInTime = await count();
  const accepted = tries.filter(isAccepted).length;
  const isDrained = async () => (await count()) >= accepted;
  await waitUntil('the queue to drain', drainWithinMs, isDrained, 20).catch(() => {}); // A fault.
  const drainSeconds = (performance.now() - endedAt) / 1_000;
  const recorded = await settledCount(count);
  return { tries, seconds: (endedAt - startedAt) / 1_000, recordedInTime, recorded, drainSeconds };
}

const isAccepted = ({ outcome }: Pick<Try, 'outcome'>): boolean => outcome === 'accepted';

function* purchases(voucherId: string, count: number): Generator<Purchase> {
  for (let user = 1; user <= count; user++)
    yield { voucherId, userId: String(user), requestId: `queue-${voucherId}-${user}` };
}

export function rowOf(rung: string, runs: readonly Run[]): QueueRow {
  const spread = (figure: (run: Run) => number) => spreadOf(runs.map(figure));
  const acceptedOf = ({ tries }: Run) => tries.filter(isAccepted).length;
  return {
    rung,
    acceptedPerSecond: spread((run) => acceptedOf(run) / run.seconds),
    recordedPerSecond: spread(({ recordedInTime, seconds }) => recordedInTime / seconds),
    waiting: spread((run) => Math.max(0, acceptedOf(run) - run.recordedInTime)),
    drainSeconds: spread(({ drainSeconds }) => drainSeconds),
  };
}

/** There is stock for all, and each user asks once: a queue that is full says so. */
export function faultsOfRun(rung: string, { tries, recorded }: Run): string[] {
  const count = (outcome: Try['outcome']) =>
    tries.filter((each) => each.outcome === outcome).length;
  const wrong = tries.filter(
    ({ outcome, reason }) => outcome === 'refused' && reason !== 'queue-full',
  );
  const reasons = [...new Set(wrong.map(({ reason }) => reason))].join(', ');
  return [
    ...(wrong.length > 0 ? [`${rung}: ${wrong.length} ${reasons}`] : []),
    ...faultsOfRecording(rung, count('accepted'), recorded, count('unknown')),
  ];
}
