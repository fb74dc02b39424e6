/** Counts a sale while it goes on: what was answered, and what MySQL has. */
import type { RowDataPacket } from 'mysql2/promise';
import type { SaleCounts } from '../stage/events.ts';
import type { Stage } from '../stage/stage.ts';
import type { Try } from '../workload/steady-purchases.ts';

const everyMs = 500;
/** Counting many orders takes MySQL long: it rests so many times as long. */
const restShare = 20;

/** @param tries they grow. @returns what ends it, and counts once more */
export function watchSale(
  stage: Stage,
  voucherId: string,
  tries: readonly Try[],
): () => Promise<void> {
  const answered = { accepted: 0, refused: 0, unknown: 0 };
  let counted = 0;
  const count = async () => {
    // First: an order is recorded before its buyer is answered, where no queue is between.
    const recorded = await readRecorded(stage, voucherId).catch(() => null);
    for (; counted < tries.length; counted++) {
      const { outcome = 'unknown' } = tries[counted] ?? {};
      answered[outcome] += 1;
    }
    stage.emit({ kind: 'counts', ...answered, ...recorded });
  };
  let timer: NodeJS.Timeout;
  let counting = Promise.resolve();
  const countAgain = () => {
    const startedAt = performance.now();
    counting = count().then(() => {
      const tookMs = performance.now() - startedAt;
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
