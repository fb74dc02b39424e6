/** What `reconcile` does and prints, for the lab's command line and for a deployment. */
import { z } from 'zod';
import type { Connections } from '../../connections/connections.ts';
import type { Done } from '../../operate/operate.ts';
import { flag, idWord } from '../../operate/words.ts';
import { rebuild } from './rebuild.ts';
import { reconcile } from './reconcile.ts';
import { rebuildText, reconcileText, repairText } from './reconcile-text.ts';
import { repair } from './repair.ts';

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
): Promise<Done> {
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
