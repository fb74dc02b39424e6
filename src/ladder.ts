/**
 * The ladder: every way of protecting the sale, weakest first. A new one is a file and a row. The service, the runner,
 * the contract tests, the command line, the k6 scripts' list and the README's table all read this table.
 */
import type { CheckName, Verdict } from './domain.ts';
import { UnknownRung } from './errors.ts';
import type { InventoryModule } from './inventory/inventory.ts';
import type { LockModule } from './locks/lock.ts';
import type { QueueModule } from './queues/order-queue.ts';

/** A circumstance under which a rung's promise breaks. */
export type Circumstance = 'two-requests-at-once' | 'several-instances';

export interface Break {
  readonly under: Circumstance;
  readonly check: CheckName;
  readonly because: string;
}

export interface Rung {
  readonly chapter: 1 | 2 | 3 | 4 | 5 | 6;
  /** What it does, in a line for the projector. */
  readonly idea: string;
  readonly lock: () => Promise<LockModule>;
  /** What the lock is on: everybody who wants the voucher, or one user who wants it. */
  readonly scope: 'voucher' | 'user';
  readonly inventory: () => Promise<InventoryModule>;
  /** Where accepted orders wait for MySQL; without it they are in MySQL when the client hears "accepted". */
  readonly queue?: () => Promise<QueueModule>;
  /** How many instances nginx shares the requests out to, unless the run says otherwise. */
  readonly instances: number;
  /** The database's last line: a unique key over voucher and user. Off where it would hide the rung's own mistake. */
  readonly rails: boolean;
  /** Chapter 1 sells to anybody any number of times; from chapter 2 on, one order per user is promised. */
  readonly onePerUser: boolean;
  readonly breaks: readonly Break[];
}

const none = () => import('./locks/none.ts');
const checkThenInsert = () => import('./inventory/check-then-insert.ts');
const unlocked = { lock: none, scope: 'voucher' } as const;
const toAnybody = { ...unlocked, rails: false, onePerUser: false } as const;
const perUser = { scope: 'user', inventory: checkThenInsert, rails: false, onePerUser: true } as const;
const holdsOnFour = { ...perUser, instances: 4, breaks: [] } as const;

export const ladder = {
  'read-then-write': {
    chapter: 1,
    idea: 'read the stock, write it back one lower',
    ...toAnybody,
    inventory: () => import('./inventory/read-then-write.ts'),
    instances: 1,
    breaks: [
      {
        under: 'two-requests-at-once',
        check: 'no-oversell',
        because: 'two sales read the same stock and both write it back one lower',
      },
    ],
  },
  'stock-positive': {
    chapter: 1,
    idea: 'UPDATE … SET stock = stock - 1 WHERE stock > 0',
    ...toAnybody,
    inventory: () => import('./inventory/stock-positive.ts'),
    instances: 4,
    breaks: [],
  },
  'check-then-insert': {
    chapter: 2,
    idea: 'look for the user’s order, then insert one',
    ...perUser,
    lock: none,
    instances: 1,
    breaks: [
      {
        under: 'two-requests-at-once',
        check: 'one-order-per-user',
        because: 'two requests of one user both look before either inserts',
      },
    ],
  },
  'mutex-per-user': {
    chapter: 2,
    idea: 'the same, inside a mutex in the process’s memory',
    ...perUser,
    lock: () => import('./locks/process-mutex.ts'),
    instances: 1,
    breaks: [
      {
        under: 'several-instances',
        check: 'one-order-per-user',
        because: 'each instance has a mutex of its own, and the two never meet',
      },
    ],
  },
  'redis-atomic': {
    chapter: 3,
    idea: 'the same, inside SET NX PX with compare-and-delete',
    ...holdsOnFour,
    lock: () => import('./locks/redis-atomic.ts'),
  },
  zookeeper: {
    chapter: 3,
    idea: 'the same, inside an ephemeral sequential node of ZooKeeper',
    ...holdsOnFour,
    lock: () => import('./locks/zookeeper.ts'),
  },
  redlock: {
    chapter: 4,
    idea: 'the same, inside a majority of three Redis masters',
    ...holdsOnFour,
    lock: () => import('./locks/redlock.ts'),
  },
  'lua-stream': {
    chapter: 6,
    idea: 'one Lua script sells and queues; workers record in MySQL',
    ...unlocked,
    inventory: () => import('./inventory/lua-stream.ts'),
    queue: () => import('./queues/redis-stream-group.ts'),
    instances: 4,
    rails: true,
    onePerUser: true,
    breaks: [],
  },
} as const satisfies Record<string, Rung>;

export type RungName = keyof typeof ladder;

export const rungNames = Object.keys(ladder) as RungName[];

export const isRungName = (name: string): name is RungName => Object.hasOwn(ladder, name);

/** @throws UnknownRung, with the names there are. */
export function rungNamed(name: string): Rung {
  if (!isRungName(name)) throw new UnknownRung(name, rungNames);
  return ladder[name];
}

export interface Claim {
  readonly verdict: Verdict;
  readonly breaks: readonly Break[];
}

/** What the ladder says will happen when many requests come at once. */
export function claimOf(rung: Rung, instances: number): Claim {
  const breaks = rung.breaks.filter(({ under }) => under === 'two-requests-at-once' || instances > 1);
  return { verdict: breaks.length > 0 ? 'violated' : 'held', breaks };
}
