/**
 * The composition root: from a row of the ladder to its opened lock, inventory and queue, and the
 * purchase they make.
 */
import type { Connections } from '../connections/connections.ts';
import {
  type Order,
  type Outcome,
  refused,
  resourceOf,
  type Scope,
  type Voucher,
} from '../domain.ts';
import { LockServiceUnavailable } from '../errors.ts';
import type { Inventory } from '../inventory/inventory.ts';
import { saleLost } from '../inventory/shared/claims.ts';
import { type Lock, type UsingOptions, using } from '../locks/lock.ts';
import { freeLease, noLock } from '../locks/none.ts';
import { asOneOwner } from '../locks/shared/owner.ts';
import { observeLockWait } from '../metrics/purchases.ts';
import { whenKnown } from '../purchase/when-known.ts';
import type { OrderQueue } from '../queues/order-queue.ts';
import { withOrder } from '../trace/checkpoints.ts';
import { keepsHistory } from '../trace/history.ts';
import { ownQueueRungs, queueFactories } from './factories.ts';
import { withHistory } from './lock-history.ts';
import { rungNamed } from './rungs.ts';

/** Not a promise where there is nothing to wait for. */
type Purchase = (order: Order, voucher: Voucher) => Outcome | Promise<Outcome>;

export interface OpenRung {
  readonly lock: Lock;
  readonly inventory: Inventory;
  /** Present where the rung has a queue. */
  readonly queue?: OrderQueue;
  readonly purchase: Purchase;
}

type OpenOptions = Pick<UsingOptions, 'onReleaseFailed'>;

export async function openRung(
  name: string,
  connections: Connections,
  options: OpenOptions = {},
): Promise<OpenRung> {
  const rung = rungNamed(name);
  const { scope, lockInside, waitMs = connections.config.LOCK_WAIT_MS } = rung;
  const lock = withHistory(rung.lock ? withMeasuredWaits(name, rung.lock(connections)) : noLock());
  const queue = rung.queue?.(connections);
  const inventory = rung.inventory(connections, { lock, scope, waitMs, queue: queue ?? noQueue });
  // A sale without a lock takes its free lease from `noLock`, so that a history has it.
  const isAround = !lockInside && (rung.lock !== undefined || keepsHistory());
  const sale = isAround
    ? underLock(lock, scope, inventory, { waitMs, ...options })
    : withoutLock(inventory);
  const answered = rung.lock ? orLockServiceUnavailable(sale) : sale;
  const purchase = withinWindow(inventory, withOwner(lock, answered));
  await connections.ready();
  return { lock, inventory, purchase, ...(queue && { queue }) };
}

/** The rung of a voucher: not a promise once it is open. */
export type RungOf = (voucher: Pick<Voucher, 'rung'>) => OpenRung | Promise<OpenRung>;

/** Opens each rung at its first sale. */
export function rungOpener(connections: Connections, options: OpenOptions): RungOf {
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

/** Also the waits that end without a lease are measured. */
export const withMeasuredWaits = (rung: string, lock: Lock): Lock => ({
  ...lock,
  acquire: async (resource, options) => {
    const askedAt = performance.now();
    const lease = await lock.acquire(resource, options);
    observeLockWait(rung, lease !== null, performance.now() - askedAt);
    return lease;
  },
});

/** A purchase is a sale made while holding a lock. */
function underLock(
  lock: Lock,
  scope: Scope,
  inventory: Inventory,
  options: UsingOptions,
): Purchase {
  return async (order, voucher) => {
    const sale = await using(lock, resourceOf(scope, order), options, async (lease) =>
      inventory.sell(order, voucher, lease),
    );
    return sale ?? refused('busy');
  };
}

/** Where the inventory acquires the lock itself, or needs none. */
const withoutLock =
  ({ sell }: Inventory): Purchase =>
  (order, voucher) =>
    sell(order, voucher, freeLease);

const orLockServiceUnavailable =
  (purchase: Purchase): Purchase =>
  async (order, voucher) => {
    try {
      return await purchase(order, voucher);
    } catch (error) {
      if (error instanceof LockServiceUnavailable) return refused('lock-service-unavailable');
      throw error;
    }
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

function withinWindow({ clock }: Inventory, purchase: Purchase): Purchase {
  if (clock === 'redis') return lostOrOutsideWindow(purchase); // Its script checks the window.
  return async (order, voucher) => outsideWindow(voucher, new Date()) ?? purchase(order, voucher);
}

/**
 * A script cannot tell a sale that Redis lost from one that is over, and whose keys were removed.
 * This is the end that the instance knows; the route looks for an end that was moved since.
 */
const lostOrOutsideWindow =
  (purchase: Purchase): Purchase =>
  (order, voucher) =>
    whenKnown(purchase(order, voucher), (outcome) =>
      outcome === saleLost ? (outsideWindow(voucher, new Date()) ?? outcome) : outcome,
    );

function outsideWindow({ beginTime, endTime }: Voucher, now: Date): Outcome | null {
  if (now < beginTime) return refused('not-started');
  return now >= endTime ? refused('ended') : null;
}
