import { setTimeout as sleep } from 'node:timers/promises';
import type { Voucher } from '../../domain.ts';

/** The work of a real sale between its check and its write; in the lab a pause of `workMs`, so that races show. */
export async function work({ lab }: Voucher): Promise<void> {
  if (lab && lab.workMs > 0) await sleep(lab.workMs);
}
