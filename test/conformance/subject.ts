/** A lock as its users see it: the same three calls for ours and for other people's packages. */
import type { Reason } from '../../src/service/ladder/rung.ts';

/** How many of its masters a lock needs. */
export type Needs = 'one' | 'majority' | 'all';

/** How long one acquire waits for a lock that is not free, set by each package's own option. */
export const waitMs = 2_000;

export interface Terms {
  readonly leaseMs: number;
  /** How long our locks wait for one answer; other packages do not have this option. */
  readonly answerMs?: number;
}

export interface Subject {
  readonly name: string;
  /** Package, version, client and options; the README of the package recommends them. */
  readonly setup: string;
  readonly needs: Needs;
  /** Only for ours: why the ladder says that it breaks. Other packages claim nothing here. */
  readonly claims?: readonly Reason[];
  /** Connects as one process would. A lock that needs one master gets the first. */
  open(urls: readonly string[], terms: Terms): Promise<Contender>;
}

/** One process that wants locks. */
export interface Contender {
  /**
   * @returns null when the lock was not free in time.
   * @throws the package's error, when it failed for another reason.
   */
  acquire(resource: string): Promise<Grant | null>;
  close(): unknown;
}

export interface Grant {
  /** Whether its owner has been told that it lost the lock. */
  isLost(): boolean;
  release(): Promise<unknown>;
}
