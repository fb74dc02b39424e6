/**
 * The ladder: every way of protecting the sale, weakest first. A new one is a file and a row. The service, the runner,
 * the contract tests, the command line, the k6 scripts' list and the README's table all read this table.
 */
import type { CheckName, Verdict } from './domain.ts';
import { UnknownRung } from './errors.ts';
import type { InventoryModule } from './inventory/inventory.ts';
import type { LockModule } from './locks/lock.ts';
import type { Scope } from './purchase/purchase.ts';
import type { QueueModule } from './queues/order-queue.ts';

/**
 * A circumstance under which a rung's promise breaks. The first two come with any rush; the others are played as a race
 * (`lockstep race`), because they need a fault at the right moment.
 */
export type Circumstance =
  | 'two-requests-at-once'
  | 'several-instances'
  | 'holder-dies'
  | 'late-release'
  | 'lease-ends-in-release'
  | 'lease-ends-in-sale'
  | 're-entry'
  | 'missed-message'
  | 'waiter-dies'
  | 'killed-half-way';

export interface Break {
  readonly under: Circumstance;
  /** What shows it: a check of the audit, or the signs of a lock that nobody gets. */
  readonly check: CheckName | 'somebody-can-buy';
  readonly because: string;
}

export interface Rung {
  readonly chapter: 1 | 2 | 3 | 4 | 5 | 6;
  /** What it does, in a line for the projector. */
  readonly idea: string;
  readonly lock: () => Promise<LockModule>;
  /** Whether it has a lock that is meant to exclude, so that its critical sections must not overlap. */
  readonly locked: boolean;
  /** The inventory takes the lock itself, inside its transaction. */
  readonly lockInside?: boolean;
  readonly scope: Scope;
  readonly inventory: () => Promise<InventoryModule>;
  /** Where accepted orders wait for MySQL; without it they are in MySQL when the client hears "accepted". */
  readonly queue?: () => Promise<QueueModule>;
  /** How many instances nginx shares the requests out to, unless the run says otherwise. */
  readonly instances: number;
  /** The database's last line: a unique key over voucher and user. Off where it would hide the rung's own mistake. */
  readonly rails: boolean;
  /** Chapter 1 sells to anybody any number of times; from chapter 2 on, one order per user is promised. */
  readonly onePerUser: boolean;
  /** An optimistic rung is walked once more with so many tries after a conflict. */
  readonly retries?: number;
  readonly breaks: readonly Break[];
}

const none = () => import('./locks/none.ts');
const processMutex = () => import('./locks/process-mutex.ts');
const checkThenInsert = () => import('./inventory/check-then-insert.ts');
const unlocked = { lock: none, locked: false, scope: 'voucher' } as const;
const perUser = {
  locked: true,
  scope: 'user',
  inventory: checkThenInsert,
  rails: false,
  onePerUser: true,
} as const;

const perProcess = [
  {
    under: 'several-instances',
    check: 'one-order-per-user',
    because: 'each instance has a mutex of its own, and the two never meet',
  },
  {
    under: 'several-instances',
    check: 'sections-never-overlap',
    because: 'so two of them are inside at once',
  },
] as const;
const waitsForItself = {
  under: 're-entry',
  check: 'somebody-can-buy',
  because: 'its holder asks again, and waits for itself',
} as const;
const outlasted = {
  under: 'lease-ends-in-sale',
  check: 'one-order-per-user',
  because: 'a sale that outlasts its lease commits beside the next holder’s',
} as const;

export const ladder = {
  'read-then-write': {
    chapter: 1,
    idea: 'read the stock, write it back one lower',
    ...unlocked,
    inventory: () => import('./inventory/read-then-write.ts'),
    instances: 1,
    rails: false,
    onePerUser: false,
    breaks: [
      {
        under: 'two-requests-at-once',
        check: 'no-oversell',
        because: 'two sales read the same stock and both write it back one lower',
      },
    ],
  },
  'version-check': {
    chapter: 1,
    idea: 'read stock and version, write if the version is the same',
    ...unlocked,
    inventory: () => import('./inventory/version-check.ts'),
    instances: 4,
    rails: false,
    onePerUser: false,
    retries: 20,
    breaks: [],
  },
  'stock-compare-and-set': {
    chapter: 1,
    idea: 'read the stock, write if it is the same',
    ...unlocked,
    inventory: () => import('./inventory/stock-compare-and-set.ts'),
    instances: 4,
    rails: false,
    onePerUser: false,
    retries: 20,
    breaks: [],
  },
  'stock-positive': {
    chapter: 1,
    idea: 'UPDATE … SET stock = stock - 1 WHERE stock > 0',
    ...unlocked,
    inventory: () => import('./inventory/stock-positive.ts'),
    instances: 4,
    rails: false,
    onePerUser: false,
    breaks: [],
  },
  'row-lock': {
    chapter: 1,
    idea: 'SELECT … FOR UPDATE, then write',
    ...unlocked,
    inventory: () => import('./inventory/row-lock.ts'),
    instances: 4,
    rails: false,
    onePerUser: false,
    breaks: [],
  },
  'check-then-insert': {
    chapter: 2,
    idea: 'look for the user’s order, then insert one',
    ...perUser,
    lock: none,
    locked: false,
    instances: 1,
    breaks: [
      {
        under: 'two-requests-at-once',
        check: 'one-order-per-user',
        because: 'two requests of one user both look before either inserts',
      },
    ],
  },
  'mutex-fresh-key': {
    chapter: 2,
    idea: 'the same, inside a mutex that every request makes anew',
    ...perUser,
    lock: () => import('./locks/mutex-fresh-key.ts'),
    instances: 1,
    breaks: [
      {
        under: 'two-requests-at-once',
        check: 'one-order-per-user',
        because: 'each request locks an object of its own: equal values, different mutexes',
      },
      {
        under: 'two-requests-at-once',
        check: 'sections-never-overlap',
        because: 'so all of them are inside at once',
      },
    ],
  },
  'mutex-inside-transaction': {
    chapter: 2,
    idea: 'the mutex is released before the commit',
    ...perUser,
    lock: processMutex,
    inventory: () => import('./inventory/lock-inside-transaction.ts'),
    lockInside: true,
    instances: 1,
    breaks: [
      {
        under: 'two-requests-at-once',
        check: 'one-order-per-user',
        because: 'the next holder checks before the commit, and cannot see the order',
      },
      waitsForItself,
    ],
  },
  'mutex-bypassed-transaction': {
    chapter: 2,
    idea: 'the statements are outside the transaction they seem to be in',
    ...perUser,
    lock: processMutex,
    inventory: () => import('./inventory/bypassed-transaction.ts'),
    instances: 1,
    breaks: [
      {
        under: 'killed-half-way',
        check: 'no-oversell',
        because: 'the stock is taken and the process dies before the order is inserted',
      },
      ...perProcess,
      waitsForItself,
    ],
  },
  'mutex-per-method': {
    chapter: 2,
    idea: 'one mutex for every purchase there is: right, and serial',
    ...perUser,
    lock: processMutex,
    scope: 'method',
    instances: 1,
    breaks: [...perProcess, waitsForItself],
  },
  'mutex-per-user': {
    chapter: 2,
    idea: 'the same, inside a mutex in the process’s memory',
    ...perUser,
    lock: processMutex,
    instances: 1,
    breaks: [...perProcess, waitsForItself],
  },
  'redis-no-expiry': {
    chapter: 3,
    idea: 'the same, inside SET NX in Redis, with DEL',
    ...perUser,
    lock: () => import('./locks/redis-no-expiry.ts'),
    instances: 4,
    breaks: [
      { under: 'holder-dies', check: 'somebody-can-buy', because: 'the key of a dead holder stays for ever' },
      waitsForItself,
    ],
  },
  'redis-expiry': {
    chapter: 3,
    idea: 'the same, inside SET NX PX, with DEL',
    ...perUser,
    lock: () => import('./locks/redis-expiry.ts'),
    instances: 4,
    breaks: [
      {
        under: 'late-release',
        check: 'one-order-per-user',
        because: 'a holder that comes back late deletes the key of the next one, and a third gets in',
      },
      outlasted,
      waitsForItself,
    ],
  },
  'redis-owner': {
    chapter: 3,
    idea: 'the same, inside SET NX PX, with GET, compare, DEL',
    ...perUser,
    lock: () => import('./locks/redis-owner.ts'),
    instances: 4,
    breaks: [
      {
        under: 'lease-ends-in-release',
        check: 'sections-never-overlap',
        because: 'the lease ends between the look and the delete, which then hits the next holder’s key',
      },
      outlasted,
      waitsForItself,
    ],
  },
  'redis-atomic': {
    chapter: 3,
    idea: 'the same, inside SET NX PX with compare-and-delete',
    ...perUser,
    lock: () => import('./locks/redis-atomic.ts'),
    instances: 4,
    breaks: [outlasted, waitsForItself],
  },
  'redis-message': {
    chapter: 3,
    idea: 'the same; a release is published, so that who waits need not ask',
    ...perUser,
    lock: () => import('./locks/redis-message.ts'),
    instances: 4,
    breaks: [
      {
        under: 'missed-message',
        check: 'somebody-can-buy',
        because: 'a release between the try and the subscription is a message that nobody hears',
      },
      outlasted,
      waitsForItself,
    ],
  },
  'redis-reentrant': {
    chapter: 3,
    idea: 'the same, inside a hash with a watchdog and messages (Redisson’s lock)',
    ...perUser,
    lock: () => import('./locks/redis-reentrant.ts'),
    instances: 4,
    breaks: [],
  },
  'redis-spin': {
    chapter: 3,
    idea: 'the same hash and watchdog; who waits asks again, after growing pauses',
    ...perUser,
    lock: () => import('./locks/redis-spin.ts'),
    instances: 4,
    breaks: [],
  },
  'redis-fair': {
    chapter: 3,
    idea: 'the same hash and watchdog; the lock goes to whoever has waited longest',
    ...perUser,
    lock: () => import('./locks/redis-fair.ts'),
    instances: 4,
    breaks: [
      {
        under: 'waiter-dies',
        check: 'somebody-can-buy',
        because: 'the lock is kept for a dead waiter until its turn has passed, minutes later',
      },
    ],
  },
  zookeeper: {
    chapter: 3,
    idea: 'the same, inside an ephemeral sequential node of ZooKeeper',
    ...perUser,
    lock: () => import('./locks/zookeeper.ts'),
    instances: 4,
    breaks: [waitsForItself],
  },
  redlock: {
    chapter: 4,
    idea: 'the same, inside a majority of three Redis masters',
    ...perUser,
    lock: () => import('./locks/redlock.ts'),
    instances: 4,
    breaks: [outlasted, waitsForItself],
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

/** What the ladder says will happen in a rush: many requests at once, and no fault. */
export function claimOf(rung: Rung, instances: number): Claim {
  const breaks = rung.breaks.filter(
    ({ under }) => under === 'two-requests-at-once' || (under === 'several-instances' && instances > 1),
  );
  return { verdict: breaks.length > 0 ? 'violated' : 'held', breaks };
}
