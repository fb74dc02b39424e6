/**
 * What a soak must have seen: each fault, at each checkpoint that it can hit, in each state of the
 * sale. Such a combination is a cell. The next fault is one with a cell that was not seen yet: the
 * seed and what was seen decide, and nothing else. Pure.
 */
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import { type SoakFaultName, soakFaultNames, soakFaults } from './soak-faults.ts';

/** A target with everything that the seed decides about it. */
export interface PlannedFault {
  readonly target: Target;
  /** Picks the instance: a share of all of them, from 0 to below 1. */
  readonly instance: number;
  /** How long the fault lasts: a share of its time, from 0 to below 1. */
  readonly duration: number;
  /** How long nothing happens afterwards. */
  readonly restMs: number;
  /** Of the sequence in which a fault hits several processes. */
  readonly seed: number;
}

const restMsMax = 300;

export class Steering {
  readonly #targets: readonly Target[];
  readonly #random: (below: number) => number;
  readonly #played = new Map<Target, number>();
  readonly #seen = new Set<string>();

  constructor(targets: readonly Target[], seed: number) {
    const generator = xoroshiro128plus(seed);
    this.#targets = targets;
    this.#random = (below) => uniformInt(generator, 0, below - 1);
  }

  /** Of the targets with an unseen cell, or of all when there is none, one of the least played. */
  next(): PlannedFault {
    const open = this.#targets.filter((target) => !this.#isSeen(target));
    const candidates = open.length > 0 ? open : this.#targets;
    const least = Math.min(...candidates.map((target) => this.#timesOf(target)));
    const rarest = candidates.filter((target) => this.#timesOf(target) === least);
    const target = rarest[this.#random(rarest.length)];
    if (!target) throw new RangeError('a soak has at least one target');
    this.#played.set(target, least + 1);
    const share = () => this.#random(1_000) / 1_000;
    const [instance, duration, rest] = [share(), share(), share()];
    const restMs = Math.round(rest * restMsMax);
    return { target, instance, duration, restMs, seed: this.#random(2 ** 31) };
  }

  saw(cells: readonly string[]): void {
    for (const cell of cells) this.#seen.add(cell);
  }

  #timesOf = (target: Target): number => this.#played.get(target) ?? 0;
  #isSeen = (target: Target): boolean => cellsOf(target).every((cell) => this.#seen.has(cell));
}

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
