/**
 * The contract of every inventory. It checks, decrements the stock and inserts the order, because
 * these three share one transaction or one script.
 */
import type { PoolConnection } from '../connections/mysql.ts';
import type { Order, Outcome, Voucher } from '../domain.ts';
import type { Lease } from '../locks/lock.ts';

export interface Inventory {
  /** The clock that decides whether the sale is open: the instance's, or Redis's in the script. */
  readonly clock: 'instance' | 'redis';
  /**
   * Prepares the sale of a new voucher, before MySQL commits the voucher. A second call changes
   * nothing.
   * @param db the transaction that inserts the voucher; an inventory with rows of its own in MySQL
   *   begins one without it.
   * @throws VOUCHER_ID_TAKEN when another sale has this id.
   * @throws STOCK_TOO_LARGE when this inventory cannot sell that many units.
   */
  prepare(voucher: Voucher, db?: PoolConnection): Promise<void>;
  /**
   * Sells one voucher to one user, or refuses with a reason. Calls `lease.assertHeld()` right
   * before the commit. The outcome is `unknown` when the sale may have happened. It throws only
   * when nothing can have been sold. Not a promise where there is nothing to wait for.
   */
  sell(order: Order, voucher: Voucher, lease: Lease): Outcome | Promise<Outcome>;
  /** The stock that is left; null when its store does not know the voucher. */
  remaining(voucher: Pick<Voucher, 'id' | 'buckets'>): Promise<number | null>;
}
