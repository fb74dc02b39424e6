/** A row of the ladder: a lock, an inventory, perhaps a queue, and what breaks it. */
import type { Connections } from '../connections/connections.ts';
import type { CheckName, Scope, Verdict } from '../domain.ts';
import type { Inventory } from '../inventory/inventory.ts';
import type { Lock } from '../locks/lock.ts';
import type { OrderQueue } from '../queues/order-queue.ts';

/**
 * A circumstance under which a promise breaks. A rush brings the first kind by itself; the second
 * needs a fault at the right moment, and is played as a race (`npx lockstep race`).
 */
export const circumstances = {
  'two-requests-at-once': 'rush',
  'several-instances': 'rush',
  'crash-between-writes': 'fault',
  'crash-before-expire': 'fault',
  'crash-before-publish': 'fault',
  'instance-dies': 'fault',
  'worker-dies': 'fault',
  'worker-dies-after-commit': 'fault',
  'worker-away': 'fault',
  'queue-restarts': 'fault',
  'database-restarts': 'fault',
  'session-killed': 'fault',
  'connections-used-up': 'fault',
  'holder-dies': 'fault',
  'release-after-expiry': 'fault',
  'lease-expires-in-release': 'fault',
  'lease-expires-during-sale': 'fault',
  'holder-pauses': 'fault',
  're-entry': 'fault',
  'lost-wakeup': 'fault',
  'never-released': 'fault',
  'waiter-dies': 'fault',
  'stale-promotion': 'fault',
  'restart-empty': 'fault',
  'restart-empty-delayed': 'fault',
  'restart-with-data': 'fault',
  'scripts-forgotten': 'fault',
  'holder-cut-off': 'fault',
  'event-loop-blocked': 'fault',
  'servers-slow': 'fault',
  'servers-hung': 'fault',
} as const;
export type Circumstance = keyof typeof circumstances;

export interface Break {
  readonly under: Circumstance;
  /** The promise that breaks: a check of the audit. */
  readonly check: CheckName;
  /** The name of a sentence in texts/. */
  readonly because: Reason;
}

/** The servers of a lab that a lock asks, in the order of their names. */
export interface LockService {
  readonly servers: readonly string[];
  /** With fewer of them the lock cannot be acquired. */
  readonly needed: number;
}

export type LockFactory = (connections: Connections) => Lock;
export type QueueFactory = (connections: Connections) => OrderQueue;

/** What an inventory may use beside the connections. */
export interface InventoryParts {
  /** For an inventory that acquires the lock itself, inside its transaction. */
  readonly lock: Lock;
  readonly scope: Scope;
  readonly waitMs: number;
  /** For an inventory that publishes its orders. */
  readonly queue: OrderQueue;
}
export type InventoryFactory = (connections: Connections, parts: InventoryParts) => Inventory;

export interface Rung {
  readonly chapter: 1 | 2 | 3 | 4 | 5 | 6;
  /** Without a lock, every request sells at once. */
  readonly lock?: LockFactory;
  /** The rung that the lock is named after, where several have the same. */
  readonly lockOf?: string;
  /** Without it, the lock is in the process. */
  readonly lockService?: LockService;
  /** One of its servers has the stock too: without its data, nothing can be sold. */
  readonly stockWithLock?: true;
  /** The inventory acquires the lock itself, inside its transaction. */
  readonly lockInside: boolean;
  readonly scope: Scope;
  /** How long a purchase waits for the lock, in milliseconds; LOCK_WAIT_MS without it. */
  readonly waitMs?: number;
  readonly inventory: InventoryFactory;
  /**
   * Where accepted orders wait for MySQL. Without a queue they are in MySQL before the client is
   * answered.
   */
  readonly queue?: QueueFactory;
  /** The queue is in the memory of the instance that sold, and is consumed there. */
  readonly queueInProcess?: true;
  /** The stock of a voucher is in several buckets, each in a shard of its own (SaleKeys). */
  readonly buckets?: true;
  /** The server of the lab that has the queue. */
  readonly queueServer: string;
  /** How many instances share the requests, unless the run says otherwise. */
  readonly instances: number;
  /**
   * The database's last line, a unique key over voucher and user. Off where it would hide the
   * rung's own fault.
   */
  readonly rails: boolean;
  /**
   * Chapter 1 sells to anybody any number of times; from chapter 2 on, one order per user is
   * promised.
   */
  readonly onePerUser: boolean;
  /** The retries after a conflict with which an optimistic rung is run, too. */
  readonly retries?: number;
  /**
   * Pauses of the rush that show the rung's fault every time: `before-commit:1:500`
   * (lab/play/pauses.ts).
   */
  readonly pauses: readonly string[];
  readonly breaks: readonly Break[];
}

export interface Claim {
  readonly verdict: Verdict;
  readonly breaks: readonly Break[];
}

/** The claim for a rush: many requests at once, and no fault. */
export function claimOf({ breaks }: Rung, instances: number): Claim {
  const shown = breaks.filter(({ under }) => showsInRush(under, instances));
  return { verdict: shown.length > 0 ? 'violated' : 'held', breaks: shown };
}

/** True when a rush brings this circumstance by itself. */
export const showsInRush = (under: Circumstance, instances: number): boolean =>
  circumstances[under] === 'rush' && (under !== 'several-instances' || instances > 1);

/** Why a promise breaks, by name. The sentences are in texts/. */
export type Reason =
  | 'two-read-the-same-stock'
  | 'both-check-before-insert'
  | 'mutex-of-its-own-object'
  | 'released-before-commit'
  | 'separate-mutexes'
  | 'two-inside-at-once'
  | 'stock-without-order'
  | 'taken-in-redis-only'
  | 'permit-lost'
  | 'waits-for-itself'
  | 'key-stays'
  | 'key-without-expiry'
  | 'deletes-next-key'
  | 'deletes-in-the-gap'
  | 'sale-outlasts-lease'
  | 'paused-past-lease'
  | 'message-lost'
  | 'latch-missed'
  | 'lock-stays-held'
  | 'dead-waiter-blocks'
  | 'commands-interleave'
  | 'claimed-not-published'
  | 'gone-with-its-process'
  | 'popped-and-lost'
  | 'heard-and-lost'
  | 'nobody-listened'
  | 'read-and-lost'
  | 'reads-only-new'
  | 'replica-without-lock'
  | 'lock-forgotten'
  | 'fence-given-again'
  | 'fences-start-again'
  | 'late-grant-stays'
  | 'release-lost';
