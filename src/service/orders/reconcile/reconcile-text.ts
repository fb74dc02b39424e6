/** A reconciliation in words. */

import type { Rebuilt, RestoredVoucher } from './rebuild.ts';
import type { ReconciledVoucher, Reconciliation } from './reconcile.ts';
import type { Repair } from './repair.ts';

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
