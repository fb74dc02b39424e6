/** Counts a sale while it goes on: what was answered, and what MySQL has. */
import type { RowDataPacket } from 'mysql2/promise';
import type { Connections } from '../../service/connections/connections.ts';
import type { Rung } from '../../service/ladder/rung.ts';
import { rungNamed } from '../../service/ladder/rungs.ts';
import type { SaleCounts } from '../stage/events.ts';
import type { Stage } from '../stage/stage.ts';
import { answerOrNull } from './answer-soon.ts';
import type { AnsweredSale } from './break-loads.ts';

const everyMs = 500;
/** Counting many orders takes MySQL long, so the pause is this many times as long as a count. */
const restShare = 20;

/** @returns what ends it, and counts once more */
export function watchSale(
  stage: Stage,
  { voucherId, rung, answers }: AnsweredSale,
): () => Promise<void> {
  const answered = { accepted: 0, refused: 0, unknown: 0 };
  const depthOf = queueDepthOf(stage.connections, rungNamed(rung));
  const refusedBecause: Record<string, number> = {};
  let counted = 0;
  const addAnswers = () => {
    for (; counted < answers.length; counted++) {
      const { outcome = 'unknown', reason = 'unknown' } = answers[counted] ?? {};
      answered[outcome] += 1;
      if (outcome === 'refused') refusedBecause[reason] = (refusedBecause[reason] ?? 0) + 1;
    }
  };
  let reading: Promise<Recorded | null> | undefined;
  /** One at a time: MySQL may stand still. */
  const read = () => {
    reading ??= readRecorded(stage, voucherId)
      .catch(() => null)
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };
  /** @returns how long MySQL took, in milliseconds; 0 when it did not answer */
  const count = async () => {
    addAnswers();
    // Before the stores are read: an order that was accepted by now is in one of them.
    const told = { ...answered, refusedBecause: { ...refusedBecause } };
    // The queue first: an order that goes on meanwhile is in both, and not in none.
    const queued = depthOf && (await answerOrNull(depthOf().catch(() => null)));
    const startedAt = performance.now();
    const recorded = await answerOrNull(read());
    const tookMs = recorded === null ? 0 : performance.now() - startedAt;
    const queue = queued && { ...queued, ...nowhere(told.accepted, queued, recorded) };
    const isAway = depthOf !== null && queue === null;
    const depth = isAway ? { queue: null } : queue && { queue };
    stage.emit({ kind: 'counts', rung, ...told, ...recorded, ...depth });
    return tookMs;
  };
  let timer: NodeJS.Timeout;
  let counting = Promise.resolve();
  const countAgain = () => {
    counting = count().then((tookMs) => {
      timer = setTimeout(countAgain, Math.max(everyMs, restShare * tookMs));
    });
  };
  timer = setTimeout(countAgain, everyMs);
  return async () => {
    clearTimeout(timer);
    await counting;
    clearTimeout(timer);
    await count();
  };
}

/** Of the orders that were accepted before the stores were read; unknown while one is away. */
function nowhere(accepted: number, { depth }: QueueDepth, recorded: Recorded | null) {
  if (!recorded) return {};
  const { recorded: rows = 0, dead = 0 } = recorded;
  return { nowhere: Math.max(0, accepted - depth - rows - dead) };
}

type Recorded = Pick<SaleCounts, 'recorded' | 'twice' | 'dead'>;

async function readRecorded({ connections }: Stage, voucherId: string): Promise<Recorded> {
  const [rows] = await connections.mysql().query<RowDataPacket[]>(
    `SELECT status, COUNT(*) AS orders, COUNT(DISTINCT user_id) AS users
     FROM orders WHERE voucher_id = ? GROUP BY status`,
    [voucherId],
  );
  const of = (status: string) => rows.find((row) => row['status'] === status);
  const confirmed = of('confirmed');
  const recorded = Number(confirmed?.['orders'] ?? 0);
  const twice = recorded - Number(confirmed?.['users'] ?? 0);
  return { recorded, twice, dead: Number(of('failed')?.['orders'] ?? 0) };
}

/** How many orders the queue of a rung has, and how many of them an order worker has in hand. */
interface QueueDepth {
  readonly depth: number;
  /** Null: the queue does not say it. */
  readonly inHand: number | null;
  /** True: `depth` leaves out what a worker has in hand. */
  readonly isInHandUncounted: boolean;
}

/** @returns null without a queue that other processes can ask */
function queueDepthOf(connections: Connections, rung: Rung): (() => Promise<QueueDepth>) | null {
  if (!rung.queue || rung.queueInProcess) return null;
  const queue = rung.queue(connections);
  return async () => ({
    depth: await queue.depth(),
    inHand: (await queue.inHand?.().catch(() => null)) ?? null,
    isInHandUncounted: queue.isInHandUncounted ?? false,
  });
}
