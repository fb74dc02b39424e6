/**
 * The contract of every inventory: a way to sell. Check, decrement and insert belong together, because they share one
 * transaction (or one script).
 */
import type { Connections } from '../connections/connections.ts';
import type { Order, Outcome, Voucher } from '../domain.ts';
import type { Lease, Lock } from '../locks/lock.ts';

export interface Inventory {
  /** Whose clock decides whether the sale is open: this instance's, or that of Redis inside the script. */
  readonly clock: 'instance' | 'redis';
  /** Makes a new voucher ready to sell; doing it twice changes nothing. */
  prepare(voucher: Voucher): Promise<void>;
  /**
   * Sells one voucher to one user, or says why not. Looks at `lease.signal` right before it commits.
   * A sale whose end is not known answers `unknown`; it throws only when nothing can have been sold.
   */
  sell(order: Order, voucher: Voucher, lease: Lease): Promise<Outcome>;
  /** How many are left to sell. */
  remaining(voucherId: string): Promise<number>;
}

/** What every file in this folder exports. */
export interface InventoryModule {
  /** `lock` is for an inventory that takes it itself, inside its transaction. */
  open(connections: Connections, lock: Lock): Inventory;
}
