/** What `reconcile` does and prints, for the lab's command line and for a deployment. */
import { z } from 'zod';
import { sentenceIn } from '../../audit/sentences.ts';
import type { Connections } from '../../connections/connections.ts';
import type { OperationResult } from '../../operate/operate.ts';
import {
  type OperateSentences,
  operateSentences,
  repairSentences,
} from '../../operate/sentences.ts';
import { flag, idWord } from '../../operate/words.ts';
import type { Difference } from './differences.ts';
import { type Rebuilt, rebuild } from './rebuild.ts';
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
  say: OperateSentences = operateSentences,
): Promise<OperationResult> {
  if (isRebuild) {
    const done = await rebuild(connections);
    const data = { ...done, after: inEnglish(done.after) };
    return { data, text: rebuildText(done, say), exitCode: exitCodes[done.after.verdict] };
  }
  if (isRepair) {
    const { after, repaired } = await repair(connections, voucherId);
    const steps = repaired.map((step) => ({
      voucherId: step.voucherId,
      text: sentenceIn(repairSentences, step.says),
    }));
    const data = { ...inEnglish(after), repaired: steps };
    return { data, text: repairText({ after, repaired }, say), exitCode: exitCodes[after.verdict] };
  }
  const found = await reconcile(connections, voucherId);
  return {
    data: inEnglish(found),
    text: reconcileText(found, say),
    exitCode: exitCodes[found.verdict],
  };
}

export const differenceText = (
  { says }: Difference,
  say: OperateSentences = operateSentences,
): string => sentenceIn(say.differences, says);

/** For programs: each difference with its sentence. */
const inEnglish = (found: Reconciliation) => ({
  ...found,
  vouchers: found.vouchers.map((voucher) => ({
    ...voucher,
    differences: voucher.differences.map((each) => {
      const { says: _, ...rest } = each;
      return { ...rest, text: differenceText(each) };
    }),
  })),
});

const shownMax = 20;

export function reconcileText(
  { verdict, vouchers, removed, passing }: Reconciliation,
  say: OperateSentences,
): string {
  const lines = vouchers.flatMap((voucher) => voucherLines(voucher, say));
  if (removed > 0) lines.push(say.removed(removed));
  if (passing > 0) lines.push(say.passing(passing));
  return [...lines, say.verdicts[verdict]].join('\n');
}

export function repairText({ after, repaired }: Repair, say: OperateSentences): string {
  const all = repaired.map(({ voucherId, says }) =>
    say.voucher(voucherId, sentenceIn(say.repairs, says)),
  );
  const lines = [...shown(all, say), say.repaired(repaired.length)];
  return [...lines, reconcileText(after, say)].join('\n');
}

export function rebuildText(
  { after, restored, frozenMs, hadLostData }: Rebuilt,
  say: OperateSentences,
): string {
  const all = restored.map((each) => say.voucher(each.voucherId, say.restored(each)));
  return [
    ...shown(all, say),
    say.rebuilt(restored.length, frozenMs),
    ...(hadLostData ? [say.notRebuilt] : []),
    reconcileText(after, say),
  ].join('\n');
}

function voucherLines(voucher: ReconciledVoucher, say: OperateSentences): string[] {
  const found = voucher.differences.map((each) =>
    say.difference(say.identities[each.identity], differenceText(each, say)),
  );
  return [say.voucher(voucher.voucherId, say.counts(voucher)), ...shown(found, say)];
}

function shown(lines: readonly string[], say: OperateSentences): string[] {
  const more = lines.length - shownMax;
  return more > 0 ? [...lines.slice(0, shownMax), say.more(more)] : [...lines];
}
