/** A purchase is a sale made while holding a lock. Everything else is a choice of parts. */
import { checkpoint, passingAs } from '../checkpoints.ts';
import { type Order, type Outcome, refused, type Voucher } from '../domain.ts';
import { LockServiceUnavailable } from '../errors.ts';
import type { Inventory } from '../inventory/inventory.ts';
import type { Lock } from '../locks/lock.ts';
import { asOneOwner } from '../locks/owner.ts';

/** What the lock is on: every purchase there is, everybody who wants one voucher, or one user who wants it. */
export type Scope = 'method' | 'voucher' | 'user';

export type Purchase = (order: Order, voucher: Voucher) => Promise<Outcome>;

export interface PurchaseParts {
  readonly lock: Lock;
  readonly scope: Scope;
  readonly waitMs: number;
  readonly inventory: Inventory;
  /** Hears of a release that failed: the lease ends by itself, and the sale stands. */
  readonly onReleaseFailed: (error: unknown) => void;
}

export function purchaseWith({ lock, scope, waitMs, inventory, onReleaseFailed }: PurchaseParts): Purchase {
  const sellAlone: Purchase = async (order, voucher) => {
    const resource = resourceOf(scope, order);
    const lease = await lock.acquire(resource, { waitMs });
    if (!lease) return refused('busy');
    try {
      await checkpoint('after-grant');
      return await inventory.sell(order, voucher, lease);
    } finally {
      await checkpoint('before-release');
      await lease.release().catch(onReleaseFailed);
    }
  };

  return async (order, voucher) => {
    const closed = inventory.clock === 'instance' ? outsideWindow(voucher, new Date()) : null;
    if (closed) return closed;
    const sale = () => passingAs(order, () => sellAlone(order, voucher));
    return (lock.reentrant ? asOneOwner(sale) : sale()).catch(refuseWithoutLockService);
  };
}

export function resourceOf(scope: Scope, { voucherId, userId }: Order): string {
  if (scope === 'method') return 'purchase';
  return scope === 'user' ? `voucher:${voucherId}:user:${userId}` : `voucher:${voucherId}`;
}

function outsideWindow({ beginTime, endTime }: Voucher, now: Date): Outcome | null {
  if (now < beginTime) return refused('not-started');
  return now >= endTime ? refused('ended') : null;
}

function refuseWithoutLockService(error: unknown): Outcome {
  if (error instanceof LockServiceUnavailable) return refused('lock-service-unavailable');
  throw error;
}
