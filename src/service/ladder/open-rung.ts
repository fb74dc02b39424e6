/**
 * The composition root: from a row of the ladder to its opened lock, inventory and queue, and the
 * purchase they make.
 */
import type { Connections } from '../connections/connections.ts';
import { type Outcome, refused, type Voucher } from '../domain.ts';
import { LockServiceUnavailable } from '../errors.ts';
import type { Inventory } from '../inventory/inventory.ts';
import { saleLost } from '../inventory/shared/claims.ts';
import type { Lock } from '../locks/lock.ts';
import { freeLease, noLock } from '../locks/none.ts';
import { asOneOwner } from '../locks/shared/owner.ts';
import { observeLockWait } from '../metrics/purchases.ts';
import { type Purchase, purchaseWith } from '../purchase/purchase.ts';
import { whenKnown } from '../purchase/when-known.ts';
import type { OrderQueue } from '../queues/order-queue.ts';
import { withOrder } from '../trace/checkpoints.ts';
import { keepsHistory } from '../trace/history.ts';
import { ownQueueRungs, queueFactories } from './factories.ts';
import { traced } from './lock-history.ts';
import { rungNamed } from './rungs.ts';

export interface OpenRung {
  readonly lock: Lock;
  readonly inventory: Inventory;
  /** Present where the rung has a queue. */
  readonly queue?: OrderQueue;
  readonly purchase: Purchase;
}

export interface OpenOptions {
  /** Called when a release failed: the lease expires by itself, and the sale stands. */
  readonly onReleaseFailed: (error: unknown) => void;
}

export async function openRung(
  name: string,
  connections: Connections,
  { onReleaseFailed }: OpenOptions,
): Promise<OpenRung> {
  const rung = rungNamed(name);
  const { scope, lockInside, waitMs = connections.config.LOCK_WAIT_MS } = rung;
  const lock = traced(rung.lock ? timed(name, rung.lock(connections)) : noLock());
  const queue = rung.queue?.(connections);
  const inventory = rung.inventory(connections, { lock, scope, waitMs, queue: queue ?? noQueue });
  // A history has the lease of a sale without a lock too.
  const isAround = !lockInside && (rung.lock !== undefined || keepsHistory());
  const sale = isAround
    ? purchaseWith({ lock, scope, waitMs, inventory, onReleaseFailed })
    : withFreeLease(inventory);
  const answered = rung.lock ? withoutLockService(sale) : sale;
  const purchase = withinWindow(inventory, withOwner(lock, answered));
  await connections.ready();
  return { lock, inventory, purchase, ...(queue && { queue }) };
}

/** Opens each rung at its first sale. */
export function rungOpener(
  connections: Connections,
  options: OpenOptions,
): (voucher: Pick<Voucher, 'rung'>) => OpenRung | Promise<OpenRung> {
  const opened = new Map<string, OpenRung | Promise<OpenRung>>();
  return ({ rung }) => {
    const known = opened.get(rung);
    if (known) return known;
    const opening = openRung(rung, connections, options);
    opened.set(rung, opening);
    opening.then(
      (open) => opened.set(rung, open),
      () => opened.delete(rung), // The next request tries again.
    );
    return opening;
  };
}

/**
 * The queues of these rungs that a worker consumes, each once: several rungs may share one. A queue
 * in the memory of an instance is not one of them.
 */
export function openQueues(rungs: readonly string[], connections: Connections): OrderQueue[] {
  const own = ownQueueRungs(rungs);
  const others = rungs.filter((name) => !own.includes(name));
  return [...queueFactories(others).values()].map((open) => open(connections));
}

/** For an inventory whose rung names no queue. */
const noQueue: OrderQueue = {
  publish: () => Promise.reject(new Error('this rung has no queue')),
  consume: () => Promise.reject(new Error('this rung has no queue')),
  depth: async () => 0,
};

/**
 * Everything that the purchase awaits belongs to one order, and to one owner of a reentrant lock.
 */
function withOwner(lock: Lock, purchase: Purchase): Purchase {
  return (order, voucher) => {
    const sale = () => withOrder(order, () => purchase(order, voucher));
    return lock.reentrant ? asOneOwner(sale) : sale();
  };
}

const withFreeLease =
  ({ sell }: Inventory): Purchase =>
  (order, voucher) =>
    sell(order, voucher, freeLease);

function withinWindow({ clock }: Inventory, purchase: Purchase): Purchase {
  if (clock === 'redis') return unlessRemoved(purchase); // Its script checks the window.
  return async (order, voucher) => outsideWindow(voucher, new Date()) ?? purchase(order, voucher);
}

/** A script cannot tell a sale that was lost from one that is over, and whose keys were deleted. */
const unlessRemoved =
  (purchase: Purchase): Purchase =>
  (order, voucher) =>
    whenKnown(purchase(order, voucher), (outcome) =>
      outcome === saleLost ? (outsideWindow(voucher, new Date()) ?? outcome) : outcome,
    );

function outsideWindow({ beginTime, endTime }: Voucher, now: Date): Outcome | null {
  if (now < beginTime) return refused('not-started');
  return now >= endTime ? refused('ended') : null;
}

const withoutLockService =
  (purchase: Purchase): Purchase =>
  async (order, voucher) => {
    try {
      return await purchase(order, voucher);
    } catch (error) {
      if (error instanceof LockServiceUnavailable) return refused('lock-service-unavailable');
      throw error;
    }
  };

/** A lock whose waits are measured, also those that end without a lease. */
export const timed = (rung: string, lock: Lock): Lock => ({
  ...lock,
  acquire: async (resource, options) => {
    const askedAt = performance.now();
    const lease = await lock.acquire(resource, options);
    observeLockWait(rung, lease !== null, performance.now() - askedAt);
    return lease;
  },
});
