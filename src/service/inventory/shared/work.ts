/** The time that a real sale needs between its check and its write. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Voucher } from '../../domain.ts';

/** Waits `workMs` in the lab, so that requests overlap and races show. Nothing outside the lab. */
export async function work({ lab }: Voucher): Promise<void> {
  if (lab && lab.workMs > 0) await sleep(lab.workMs);
}
