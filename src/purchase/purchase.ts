/** A purchase is a sale made while holding a lock. Everything else is a choice of parts. */
import { type Order, type Outcome, refused, type Voucher } from '../domain.ts';
import { LockServiceUnavailable } from '../errors.ts';
import type { Inventory } from '../inventory/inventory.ts';
import type { Lock } from '../locks/lock.ts';

export type Purchase = (order: Order, voucher: Voucher) => Promise<Outcome>;

export interface PurchaseParts {
  readonly lock: Lock;
  /** What the lock is on: everybody who wants the voucher, or one user who wants it. */
  readonly scope: 'voucher' | 'user';
  readonly waitMs: number;
  readonly inventory: Inventory;
  /** Hears of a release that failed: the lease ends by itself, and the sale stands. */
  readonly onReleaseFailed: (error: unknown) => void;
}

export function purchaseWith({ lock, scope, waitMs, inventory, onReleaseFailed }: PurchaseParts): Purchase {
  const resource = ({ voucherId, userId }: Order) =>
    scope === 'user' ? `voucher:${voucherId}:user:${userId}` : `voucher:${voucherId}`;

  const sellAlone: Purchase = async (order, voucher) => {
    const lease = await lock.acquire(resource(order), { waitMs });
    if (!lease) return refused('busy');
    try {
      return await inventory.sell(order, voucher, lease);
    } finally {
      await lease.release().catch(onReleaseFailed);
    }
  };

  return async (order, voucher) => {
    const closed = inventory.clock === 'instance' ? outsideWindow(voucher, new Date()) : null;
    return closed ?? sellAlone(order, voucher).catch(refuseWithoutLockService);
  };
}

function outsideWindow({ beginTime, endTime }: Voucher, now: Date): Outcome | null {
  if (now < beginTime) return refused('not-started');
  return now >= endTime ? refused('ended') : null;
}

function refuseWithoutLockService(error: unknown): Outcome {
  if (error instanceof LockServiceUnavailable) return refused('lock-service-unavailable');
  throw error;
}
