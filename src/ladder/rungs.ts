/**
 * The ladder: every way of protecting the sale, weakest first. A new one is a file and a row. The
 * service, the runner, the contract tests, the command line, the k6 scripts and the README's tables
 * all read this table.
 */
import type { Redis } from 'ioredis';
import type { Connections } from '../connections/connections.ts';
import { UnknownRung } from '../errors.ts';
import { bypassedTransaction } from '../inventory/bypassed-transaction.ts';
import { claimThenQueue } from '../inventory/claim-then-queue.ts';
import { lockInsideTransaction } from '../inventory/lock-inside-transaction.ts';
import { luaStream } from '../inventory/lua-stream.ts';
import { readThenWrite } from '../inventory/read-then-write.ts';
import { redisCommands } from '../inventory/redis-commands.ts';
import { redisStock } from '../inventory/redis-stock.ts';
import { rowLock } from '../inventory/row-lock.ts';
import { stockCompareAndSet } from '../inventory/stock-compare-and-set.ts';
import { stockPositive } from '../inventory/stock-positive.ts';
import { versionCheck } from '../inventory/version-check.ts';
import { multiLock } from '../locks/multilock.ts';
import { mutexFreshKey } from '../locks/mutex-fresh-key.ts';
import { processMutex } from '../locks/process-mutex.ts';
import { redisAtomicLock } from '../locks/redis-atomic.ts';
import { redisExpiryLock } from '../locks/redis-expiry.ts';
import { redisExpiryLaterLock } from '../locks/redis-expiry-later.ts';
import { redisFairLock } from '../locks/redis-fair.ts';
import { redisMessageLock } from '../locks/redis-message.ts';
import { redisNoExpiryLock } from '../locks/redis-no-expiry.ts';
import { redisOwnerLock } from '../locks/redis-owner.ts';
import { redisReentrantLock } from '../locks/redis-reentrant.ts';
import { redisSpinLock } from '../locks/redis-spin.ts';
import { redlockLock } from '../locks/redlock.ts';
import { zookeeperLock } from '../locks/zookeeper.ts';
import { zookeeperLatchLock } from '../locks/zookeeper-latch.ts';
import { redisStreamGroupQueue } from '../queues/redis-stream-group.ts';
import { type Break, type InventoryParts, type Rung, rung } from './rung.ts';

const endlessLock = ({ config }: Connections) => ({ answerMs: config.LOCK_ANSWER_MS });
const timedLock = ({ config }: Connections) => ({
  leaseMs: config.LOCK_LEASE_MS,
  answerMs: config.LOCK_ANSWER_MS,
});
const messageLock = (connections: Connections) => ({
  ...timedLock(connections),
  subscriber: connections.redis('subscriber'),
});
const watchedLock = ({ config }: Connections) => ({
  watchdogMs: config.LOCK_WATCHDOG_MS,
  answerMs: config.LOCK_ANSWER_MS,
});
const notifiedLock = (connections: Connections) => ({
  ...watchedLock(connections),
  subscriber: connections.redis('subscriber'),
});
const eachMaster = (c: Connections) =>
  c.redlockMasters().map((redis, place) => {
    const subscriber = c.redlockMasters('subscriber')[place] as Redis;
    return { redis, lock: redisReentrantLock(redis, { ...watchedLock(c), subscriber }) };
  });
const streamGroup = (c: Connections) => {
  const { BATCH_SIZE: batchSize, BATCH_GATHER_MS: gatherMs, CLAIM_IDLE_MS: claimIdleMs } = c.config;
  return redisStreamGroupQueue(c.redis('admin'), c.saleKeys, {
    ...{ batchSize, gatherMs, claimIdleMs },
    newConsumer: () => c.newRedis('consumer'),
  });
};

const mutex = () => processMutex();
const lockInside = (c: Connections, parts: InventoryParts) =>
  lockInsideTransaction(c.mysql(), parts);
const atomic = (c: Connections) => redisAtomicLock(c.redis('lock'), timedLock(c));

const perProcess: readonly Break[] = [
  { under: 'several-instances', check: 'one-order-per-user', because: 'separate-mutexes' },
  { under: 'several-instances', check: 'mutual-exclusion', because: 'two-inside-at-once' },
];
const waitsForItself: Break = { under: 're-entry', check: 'progress', because: 'waits-for-itself' };
/** A lease with an end, renewed or not: nobody renews it while the process stands still. */
const pausedOverlap: Break = {
  under: 'holder-pauses',
  check: 'mutual-exclusion',
  because: 'two-inside-at-once',
};
const paused: readonly Break[] = [
  { under: 'holder-pauses', check: 'one-order-per-user', because: 'paused-past-lease' },
  pausedOverlap,
];
/** A lease that is not renewed: a request that stalls past it is inside beside the next owner. */
const overlapping: readonly Break[] = [
  { under: 'lease-expires-during-sale', check: 'mutual-exclusion', because: 'two-inside-at-once' },
  { under: 'release-after-expiry', check: 'mutual-exclusion', because: 'two-inside-at-once' },
];
const outlasted: readonly Break[] = [
  {
    under: 'lease-expires-during-sale',
    check: 'one-order-per-user',
    because: 'sale-outlasts-lease',
  },
  ...overlapping,
  ...paused,
];
const releasedBeforeCommit: Break = {
  under: 'two-requests-at-once',
  check: 'one-order-per-user',
  because: 'released-before-commit',
};
const neverReleased: Break = {
  under: 'never-released',
  check: 'progress',
  because: 'lock-stays-held',
};

const oneInstance = { instances: 1 } as const;
const manyPerUser = { scope: 'voucher', onePerUser: false } as const;

export const ladder = {
  'read-then-write': rung({
    chapter: 1,
    ...manyPerUser,
    ...oneInstance,
    inventory: (c) => readThenWrite(c.mysql()),
    breaks: [
      { under: 'two-requests-at-once', check: 'no-oversell', because: 'two-read-the-same-stock' },
    ],
  }),
  'version-check': rung({
    chapter: 1,
    ...manyPerUser,
    inventory: (c) => versionCheck(c.mysql()),
    retries: 20,
  }),
  'stock-compare-and-set': rung({
    chapter: 1,
    ...manyPerUser,
    inventory: (c) => stockCompareAndSet(c.mysql()),
    retries: 20,
  }),
  'stock-positive': rung({
    chapter: 1,
    ...manyPerUser,
    inventory: (c) => stockPositive(c.mysql()),
  }),
  'row-lock': rung({
    chapter: 1,
    ...manyPerUser,
    inventory: (c) => rowLock(c.mysql()),
  }),
  'redis-stock': rung({
    chapter: 1,
    ...manyPerUser,
    lock: atomic,
    inventory: (c) => redisStock(c.mysql(), c.redis('admin'), c.saleKeys),
    breaks: [
      {
        under: 'crash-between-writes',
        check: 'redis-matches-mysql',
        because: 'taken-in-redis-only',
      },
      ...overlapping,
      pausedOverlap,
      waitsForItself,
    ],
  }),
  'check-then-insert': rung({
    chapter: 2,
    ...oneInstance,
    breaks: [
      {
        under: 'two-requests-at-once',
        check: 'one-order-per-user',
        because: 'both-check-before-insert',
      },
    ],
  }),
  'mutex-fresh-key': rung({
    chapter: 2,
    ...oneInstance,
    lock: () => mutexFreshKey(),
    breaks: [
      {
        under: 'two-requests-at-once',
        check: 'one-order-per-user',
        because: 'mutex-of-its-own-object',
      },
      { under: 'two-requests-at-once', check: 'mutual-exclusion', because: 'two-inside-at-once' },
    ],
  }),
  'mutex-on-transaction': rung({
    chapter: 2,
    ...oneInstance,
    lock: mutex,
    lockInside: true,
    scope: 'method',
    inventory: lockInside,
    pauses: ['before-commit:1:500'],
    breaks: [releasedBeforeCommit, ...perProcess, waitsForItself, neverReleased],
  }),
  'mutex-inside-transaction': rung({
    chapter: 2,
    ...oneInstance,
    lock: mutex,
    lockInside: true,
    inventory: lockInside,
    pauses: ['before-commit:1:500'],
    breaks: [releasedBeforeCommit, ...perProcess, waitsForItself, neverReleased],
  }),
  'mutex-bypassed-transaction': rung({
    chapter: 2,
    ...oneInstance,
    lock: mutex,
    inventory: (c) => bypassedTransaction(c.mysql()),
    breaks: [
      { under: 'crash-between-writes', check: 'no-oversell', because: 'stock-without-order' },
      ...perProcess,
      waitsForItself,
      neverReleased,
    ],
  }),
  'mutex-per-method': rung({
    chapter: 2,
    ...oneInstance,
    lock: mutex,
    scope: 'method',
    breaks: [...perProcess, waitsForItself, neverReleased],
  }),
  'mutex-per-user': rung({
    chapter: 2,
    ...oneInstance,
    lock: mutex,
    breaks: [...perProcess, waitsForItself, neverReleased],
  }),
  'redis-no-expiry': rung({
    chapter: 3,
    lock: (c) => redisNoExpiryLock(c.redis('lock'), endlessLock(c)),
    breaks: [
      { under: 'holder-dies', check: 'progress', because: 'key-stays' },
      { under: 'crash-before-expire', check: 'progress', because: 'key-stays' },
      waitsForItself,
      neverReleased,
    ],
  }),
  'redis-expiry-later': rung({
    chapter: 3,
    lock: (c) => redisExpiryLaterLock(c.redis('lock'), timedLock(c)),
    breaks: [
      { under: 'crash-before-expire', check: 'progress', because: 'key-without-expiry' },
      { under: 'release-after-expiry', check: 'one-order-per-user', because: 'deletes-next-key' },
      ...outlasted,
      waitsForItself,
    ],
  }),
  'redis-expiry': rung({
    chapter: 3,
    lock: (c) => redisExpiryLock(c.redis('lock'), timedLock(c)),
    breaks: [
      { under: 'release-after-expiry', check: 'one-order-per-user', because: 'deletes-next-key' },
      ...outlasted,
      waitsForItself,
    ],
  }),
  'redis-owner': rung({
    chapter: 3,
    lock: (c) => redisOwnerLock(c.redis('lock'), timedLock(c)),
    breaks: [
      {
        under: 'lease-expires-in-release',
        check: 'mutual-exclusion',
        because: 'deletes-in-the-gap',
      },
      ...outlasted,
      waitsForItself,
    ],
  }),
  'redis-atomic': rung({
    chapter: 3,
    lock: atomic,
    breaks: [...outlasted, waitsForItself],
  }),
  'redis-no-retry': rung({
    chapter: 3,
    lock: atomic,
    waitMs: 0,
    breaks: outlasted,
  }),
  'redis-message': rung({
    chapter: 3,
    lock: (c) => redisMessageLock(c.redis('lock'), messageLock(c)),
    breaks: [
      { under: 'lost-wakeup', check: 'progress', because: 'message-lost' },
      ...outlasted,
      waitsForItself,
    ],
  }),
  'redis-reentrant': rung({
    chapter: 3,
    lock: (c) => redisReentrantLock(c.redis('lock'), notifiedLock(c)),
    breaks: [...paused, neverReleased],
  }),
  'redis-spin': rung({
    chapter: 3,
    lock: (c) => redisSpinLock(c.redis('lock'), watchedLock(c)),
    breaks: [...paused, neverReleased],
  }),
  'redis-fair': rung({
    chapter: 3,
    lock: (c) => redisFairLock(c.redis('lock'), notifiedLock(c)),
    breaks: [
      { under: 'waiter-dies', check: 'progress', because: 'dead-waiter-blocks' },
      ...paused,
      neverReleased,
    ],
  }),
  'zookeeper-latch': rung({
    chapter: 3,
    lock: (c) => zookeeperLatchLock(c.zookeeper(), { answerMs: c.config.LOCK_ANSWER_MS }),
    breaks: [
      { under: 'lost-wakeup', check: 'progress', because: 'latch-missed' },
      ...paused,
      neverReleased,
      waitsForItself,
    ],
  }),
  zookeeper: rung({
    chapter: 3,
    lock: (c) => zookeeperLock(c.zookeeper(), { answerMs: c.config.LOCK_ANSWER_MS }),
    breaks: [...paused, neverReleased],
  }),
  multilock: rung({
    chapter: 4,
    lock: (c) => multiLock(eachMaster(c), { answerMs: c.config.LOCK_ANSWER_MS }),
    breaks: [...paused, neverReleased],
  }),
  redlock: rung({
    chapter: 4,
    lock: (c) => redlockLock(c.redlockMasters(), timedLock(c)),
    breaks: [...outlasted, waitsForItself],
  }),
  'redis-commands': rung({
    chapter: 5,
    scope: 'voucher',
    inventory: (c, { queue }) => redisCommands(c.redis('purchase'), c.saleKeys, queue),
    queue: streamGroup,
    breaks: [
      { under: 'two-requests-at-once', check: 'no-oversell', because: 'commands-interleave' },
      {
        under: 'two-requests-at-once',
        check: 'one-order-per-user',
        because: 'commands-interleave',
      },
    ],
  }),
  'redis-stream-group': rung({
    chapter: 5,
    scope: 'voucher',
    inventory: (c, { queue }) => claimThenQueue(c.redis('purchase'), c.saleKeys, queue),
    queue: streamGroup,
    rails: true,
    breaks: [
      {
        under: 'crash-before-publish',
        check: 'redis-matches-mysql',
        because: 'claimed-not-published',
      },
    ],
  }),
  'lua-stream': rung({
    chapter: 6,
    scope: 'voucher',
    inventory: (c) => luaStream(c.redis('purchase'), c.saleKeys),
    queue: streamGroup,
    rails: true,
  }),
} as const satisfies Record<string, Rung>;

export type RungName = keyof typeof ladder;

export const rungNames = Object.keys(ladder) as RungName[];

export const isRungName = (name: string): name is RungName => Object.hasOwn(ladder, name);

/** @throws UnknownRung, with the names of all rungs. */
export function rungNamed(name: string): Rung {
  if (!isRungName(name)) throw new UnknownRung(name, rungNames);
  return ladder[name];
}

/** The rungs that a deployment may sell by: those it names, or `all`. @throws UnknownRung */
export function allowedRungs(names: readonly string[]): RungName[] {
  if (names.length === 1 && names[0] === 'all') return rungNames;
  for (const name of names) rungNamed(name);
  return names.filter(isRungName);
}
