/** A purchase is a sale made while holding a lock. The rung chooses the lock and the inventory. */
import {
  type Order,
  type Outcome,
  refused,
  resourceOf,
  type Scope,
  type Voucher,
} from '../domain.ts';
import type { Inventory } from '../inventory/inventory.ts';
import { type Lock, using } from '../locks/lock.ts';

/** Not a promise where there is nothing to wait for. */
export type Purchase = (order: Order, voucher: Voucher) => Outcome | Promise<Outcome>;

export interface PurchaseParts {
  readonly lock: Lock;
  readonly scope: Scope;
  readonly waitMs: number;
  readonly inventory: Inventory;
  /** Called when a release failed: the lease expires by itself, and the sale stands. */
  readonly onReleaseFailed: (error: unknown) => void;
}

export function purchaseWith({ lock, scope, inventory, ...options }: PurchaseParts): Purchase {
  return async (order, voucher) => {
    const sale = await using(lock, resourceOf(scope, order), options, async (lease) =>
      inventory.sell(order, voucher, lease),
    );
    return sale ?? refused('busy');
  };
}
