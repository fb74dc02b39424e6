/** What `reconcile` does and prints, for the lab's command line and for a deployment. */
import { z } from 'zod';
import type { Connections } from '../../connections/connections.ts';
import type { OperationResult } from '../../operate/operate.ts';
import { flag, idWord } from '../../operate/words.ts';
import { type Rebuilt, type RestoredVoucher, rebuild } from './rebuild.ts';
import { type ReconciledVoucher, type Reconciliation, reconcile } from './reconcile.ts';
import { type Repair, repair } from './repair.ts';

export const ReconcileGiven = z
  .object({
    /** Only this voucher; every voucher of the final rung without it. */
    voucherId: idWord.optional(),
    repair: flag,
    /** Every voucher; sales stop meanwhile. */
    rebuild: flag,
  })
  .refine(({ voucherId, repair, rebuild }) => !(rebuild && (repair || voucherId !== undefined)));

/** 0 consistent, 1 not, 2 could not tell: as it is now, after a repair. */
const exitCodes = { consistent: 0, inconsistent: 1, unknown: 2 } as const;

export async function runReconcile(
  connections: Connections,
  { voucherId, repair: isRepair, rebuild: isRebuild }: z.infer<typeof ReconcileGiven>,
): Promise<OperationResult> {
  if (isRebuild) {
    const done = await rebuild(connections);
    return { data: done, text: rebuildText(done), exitCode: exitCodes[done.after.verdict] };
  }
  if (isRepair) {
    const done = await repair(connections, voucherId);
    const data = { ...done.after, repaired: done.repaired };
    return { data, text: repairText(done), exitCode: exitCodes[done.after.verdict] };
  }
  const found = await reconcile(connections, voucherId);
  return { data: found, text: reconcileText(found), exitCode: exitCodes[found.verdict] };
}

const shownMax = 20;

const verdicts: Readonly<Record<Reconciliation['verdict'], string>> = {
  consistent: 'consistent: Redis and MySQL agree',
  inconsistent: 'NOT consistent: Redis and MySQL differ',
  unknown: 'could not tell: each reading had other differences; try again',
};

export function reconcileText({ verdict, vouchers, removed, passing }: Reconciliation): string {
  const lines = vouchers.flatMap(voucherLines);
  if (removed > 0) lines.push(`${removed} sales are over, and Redis does not have them any more`);
  if (passing > 0) lines.push(`${passing} differences were gone at the next reading: sales go on`);
  return [...lines, verdicts[verdict]].join('\n');
}

export function repairText({ after, repaired }: Repair): string {
  const all = repaired.map(({ voucherId, text }) => `voucher ${voucherId}: ${text}`);
  const lines = [...shown(all), `${repaired.length} repairs`];
  return [...lines, reconcileText(after)].join('\n');
}

/** What no store knows cannot be counted: the clients were told `accepted`. */
const notRebuilt =
  'Redis had lost data. An order that it had accepted, and that MySQL had not recorded by then, is lost: ' +
  'no store knows it, so it is not counted here. Its unit is on sale again, its user may buy again, ' +
  'and its id is answered with unknown-order.';

export function rebuildText({ after, restored, frozenMs, hadLostData }: Rebuilt): string {
  return [
    ...shown(restored.map(restoredLine)),
    `${restored.length} sales were rebuilt; nothing was sold for ${frozenMs} ms`,
    ...(hadLostData ? [notRebuilt] : []),
    reconcileText(after),
  ].join('\n');
}

function restoredLine(restored: RestoredVoucher): string {
  const { voucherId, recorded, inFlight, queuedAgain } = restored;
  return `voucher ${voucherId}: ${recorded} recorded, ${inFlight} in flight, ${queuedAgain} queued again`;
}

function voucherLines(voucher: ReconciledVoucher): string[] {
  const { voucherId, initialStock, stock, inFlight, recorded, buyers, isMoving } = voucher;
  const sum = `stock ${stock ?? '–'} + in flight ${inFlight} + recorded ${recorded}`;
  const moving = isMoving ? ' (it sells now)' : '';
  const head = `voucher ${voucherId}: ${sum}, initial stock ${initialStock}; buyers ${buyers}${moving}`;
  return [
    head,
    ...shown(voucher.differences.map(({ identity, text }) => `  ${identity}: ${text}`)),
  ];
}

function shown(lines: readonly string[]): string[] {
  const more = lines.length - shownMax;
  return more > 0 ? [...lines.slice(0, shownMax), `  and ${more} more`] : [...lines];
}
