/** Counts a sale while it goes on: what was answered, and what MySQL has. */
import type { RowDataPacket } from 'mysql2/promise';
import type { Stage } from '../stage/stage.ts';
import type { Try } from '../workload/steady-purchases.ts';

const everyMs = 500;

interface Recorded {
  readonly recorded: number;
  /** Users with more than one confirmed order. */
  readonly twice: number;
}

/** @param tries they grow. @returns what ends it, and counts once more */
export function watchSale(
  stage: Stage,
  voucherId: string,
  tries: readonly Try[],
): () => Promise<void> {
  const answered = { accepted: 0, refused: 0, unknown: 0 };
  let counted = 0;
  let isCounting = false;
  const look = async () => {
    if (isCounting) return; // A database that is away answers late.
    isCounting = true;
    // First: an order is recorded before its buyer is answered, where no queue is between.
    const recorded = await readRecorded(stage, voucherId).catch(() => null);
    for (; counted < tries.length; counted++) {
      const { outcome = 'unknown' } = tries[counted] ?? {};
      answered[outcome] += 1;
    }
    stage.emit({ kind: 'counts', ...answered, ...recorded });
    isCounting = false;
  };
  const timer = setInterval(() => void look(), everyMs);
  return async () => {
    clearInterval(timer);
    await look();
  };
}

async function readRecorded({ connections }: Stage, voucherId: string): Promise<Recorded> {
  const [rows] = await connections.mysql().query<RowDataPacket[]>(
    `SELECT COUNT(*) AS recorded, COUNT(*) - COUNT(DISTINCT user_id) AS twice
     FROM orders WHERE voucher_id = ? AND status = 'confirmed'`,
    [voucherId],
  );
  return { recorded: Number(rows[0]?.['recorded']), twice: Number(rows[0]?.['twice']) };
}
