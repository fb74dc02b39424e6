/** What `reconcile` does and prints, for the lab's command line and for a deployment. */
import type { Connections } from '../../connections/connections.ts';
import { rebuild } from './rebuild.ts';
import { type Reconciliation, reconcile } from './reconcile.ts';
import { rebuildText, reconcileText, repairText } from './reconcile-text.ts';
import { repair } from './repair.ts';

export interface ReconcileOptions {
  /** Only this voucher; every voucher of the final rung without it. */
  readonly voucherId?: string | undefined;
  readonly repair: boolean;
  /** Every voucher; sales stop meanwhile. */
  readonly rebuild: boolean;
}

/** 0 consistent, 1 not, 2 could not tell. */
export const reconcileExitCodes = { consistent: 0, inconsistent: 1, unknown: 2 } as const;

export interface ReconcileAnswer {
  /** How it is now, after a repair. */
  readonly verdict: Reconciliation['verdict'];
  /** For `--json`. */
  readonly data: unknown;
  readonly text: string;
}

export async function runReconcile(
  connections: Connections,
  { voucherId, repair: isRepair, rebuild: isRebuild }: ReconcileOptions,
): Promise<ReconcileAnswer> {
  if (isRebuild) {
    const done = await rebuild(connections);
    return { verdict: done.after.verdict, data: done, text: rebuildText(done) };
  }
  if (isRepair) {
    const done = await repair(connections, voucherId);
    const { verdict } = done.after;
    const data = { ...done.after, repaired: done.repaired };
    return { verdict, data, text: repairText(done) };
  }
  const found = await reconcile(connections, voucherId);
  return { verdict: found.verdict, data: found, text: reconcileText(found) };
}
