/**
 * The contract of every inventory: a way to sell. Check, decrement and insert belong together, because they share one
 * transaction (or one script).
 */
import type { Order, Outcome, Voucher } from '../domain.ts';
import type { Lease } from '../locks/lock.ts';

export interface Inventory {
  /** The clock that decides whether the sale is open: the instance's, or that of Redis inside the script. */
  readonly clock: 'instance' | 'redis';
  /** Makes a new voucher ready to sell; a second call changes nothing. */
  prepare(voucher: Voucher): Promise<void>;
  /**
   * Sells one voucher to one user, or says why not. Checks `lease.signal` right before it commits.
   * A sale with an unknown end answers `unknown`; it throws only when nothing can have been sold.
   */
  sell(order: Order, voucher: Voucher, lease: Lease): Promise<Outcome>;
  /** How many are left to sell. */
  remaining(voucherId: string): Promise<number>;
}
