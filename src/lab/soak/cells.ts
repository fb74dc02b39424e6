/**
 * What a soak must have seen: each fault, at each checkpoint that it can hit, in each state of the
 * sale. Such a combination is a cell. Pure.
 */
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import { type SoakFaultName, soakFaultNames, soakFaults } from './soak-faults.ts';

/** Before the script of a purchase is sent; after it has run, and before the client is answered. */
export const purchaseCheckpoints = ['after-acquire', 'before-release'] as const;
/** With orders in hand; before their commit; after it, and before they are acknowledged. */
export const workerCheckpoints = ['delivered', 'recording', 'recorded'] as const;

/**
 * `stock-left` and `sold-out` are about the voucher of the requests that stand at a checkpoint.
 * `queue-behind`: orders wait, because an order worker stands still.
 */
export const saleStates = ['stock-left', 'sold-out', 'queue-behind'] as const;
export type SaleState = (typeof saleStates)[number];

/** One fault, played once: it reaches at most these cells. */
export interface Target {
  readonly fault: SoakFaultName;
  readonly state: SaleState;
  readonly checkpoints: readonly CheckpointName[];
}

/** `recorded × kill worker × sold-out` */
export const cellName = (
  checkpoint: CheckpointName,
  { fault, state }: Pick<Target, 'fault' | 'state'>,
): string => `${checkpoint} × ${fault} × ${state}`;

export const cellsOf = (target: Target): string[] =>
  target.checkpoints.map((checkpoint) => cellName(checkpoint, target));

/**
 * A worker stands at one checkpoint at a time, and several purchases at theirs. nginx and the
 * instances never meet the queue, so how long it is makes no difference to a fault of them.
 */
export const targets: readonly Target[] = soakFaultNames.flatMap((fault) =>
  saleStates
    .filter((state) => soakFaults[fault].at !== 'purchase' || state !== 'queue-behind')
    .flatMap((state) =>
      checkpointsFor(fault).map((checkpoints): Target => ({ fault, state, checkpoints })),
    ),
);

function checkpointsFor(fault: SoakFaultName): CheckpointName[][] {
  const { at } = soakFaults[fault];
  if (at === 'purchase') return [[...purchaseCheckpoints]];
  const ofPurchases = at === 'both' ? purchaseCheckpoints : [];
  return workerCheckpoints.map((checkpoint) => [...ofPurchases, checkpoint]);
}

export const declaredCells: readonly string[] = [...new Set(targets.flatMap(cellsOf))];
