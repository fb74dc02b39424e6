/**
 * The ladder: every way of protecting the sale, weakest first. A new one is a file and a row. The
 * service, the runner, the contract tests, the command line, the k6 scripts and the README's tables
 * all read this table.
 */

import type { Redis } from 'ioredis';
import { waitsForReplicas } from '../config.ts';
import type { Connections } from '../connections/connections.ts';
import { serviceError } from '../errors.ts';
import { bypassedTransaction } from '../inventory/bypassed-transaction.ts';
import { checkThenInsert } from '../inventory/check-then-insert.ts';
import { claimThenQueue } from '../inventory/claim-then-queue.ts';
import { fencedInsert } from '../inventory/fenced-insert.ts';
import { lockInsideTransaction } from '../inventory/lock-inside-transaction.ts';
import { luaBuckets } from '../inventory/lua-buckets.ts';
import { luaStream } from '../inventory/lua-stream.ts';
import { mergedCommit } from '../inventory/merged-commit.ts';
import { readThenWrite } from '../inventory/read-then-write.ts';
import { redisCommands } from '../inventory/redis-commands.ts';
import { redisSemaphoreStock } from '../inventory/redis-semaphore-stock.ts';
import { redisStock } from '../inventory/redis-stock.ts';
import { rowLock } from '../inventory/row-lock.ts';
import { stockCompareAndSet } from '../inventory/stock-compare-and-set.ts';
import { stockPositive } from '../inventory/stock-positive.ts';
import { unitRows } from '../inventory/unit-rows.ts';
import { versionCheck } from '../inventory/version-check.ts';
import { fencedLock } from '../locks/fenced.ts';
import { fencedByRedisLock } from '../locks/fenced-by-redis.ts';
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
import { redisReentrantLeaseLock } from '../locks/redis-reentrant-lease.ts';
import { redisSpinLock } from '../locks/redis-spin.ts';
import { redlockLock } from '../locks/redlock.ts';
import { zookeeperLock } from '../locks/zookeeper.ts';
import { zookeeperLatchLock } from '../locks/zookeeper-latch.ts';
import { memoryQueue } from '../queues/memory.ts';
import { rabbitmqQueue } from '../queues/rabbitmq.ts';
import { redisListQueue } from '../queues/redis-list.ts';
import { redisReliableListQueue } from '../queues/redis-list-reliable.ts';
import { redisPubsubQueue } from '../queues/redis-pubsub.ts';
import { redisStreamQueue } from '../queues/redis-stream.ts';
import { redisStreamGroupQueue } from '../queues/redis-stream-group.ts';
import type {
  Break,
  Circumstance,
  InventoryFactory,
  InventoryParts,
  Reason,
  Rung,
} from './rung.ts';

const endlessLock = ({ config }: Connections) => ({ answerMs: config.LOCK_ANSWER_MS });
const timedLock = ({ config }: Connections) => ({
  leaseMs: config.LOCK_LEASE_MS,
  answerMs: config.LOCK_ANSWER_MS,
});
const luaStreamOptions = ({ config, epoch }: Connections) => ({
  epoch,
  waitForReplicas: waitsForReplicas(config),
  waitMs: config.PURCHASE_ANSWER_MS,
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
const batches = ({ config }: Connections) => ({
  batchSize: config.BATCH_SIZE,
  gatherMs: config.BATCH_GATHER_MS,
});
const consumed = (c: Connections, role: 'consumer' | 'subscriber' = 'consumer') => ({
  ...batches(c),
  newConsumer: () => c.newRedis(role),
});
const claimed = (c: Connections) => ({ ...consumed(c), claimIdleMs: c.config.CLAIM_IDLE_MS });
const streamGroup = (c: Connections) =>
  redisStreamGroupQueue(c.redis('admin'), c.saleKeys, claimed(c));
const claimQueued = (c: Connections, { queue }: InventoryParts) =>
  claimThenQueue(c.redis('purchase'), c.saleKeys, queue);

const mutex = () => processMutex();
const lockInside = (c: Connections, parts: InventoryParts) =>
  lockInsideTransaction(c.mysql(), parts);
const atomic = (c: Connections) => redisAtomicLock(c.redis('lock'), timedLock(c));
const reentrant = (c: Connections) => redisReentrantLock(c.redis('lock'), notifiedLock(c));
const fenced: InventoryFactory = (c, { scope }) => fencedInsert(c.mysql(), scope);
const expiry = (c: Connections) => redisExpiryLock(c.redis('lock'), timedLock(c));

const oneRedis = { servers: ['redis-main'], needed: 1 } as const;
const oneZookeeper = { servers: ['zookeeper'], needed: 1 } as const;
const masters = ['redis-1', 'redis-2', 'redis-3'] as const;

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
/** The owner is told by its clock before it commits, but the next one is inside already. */
const toldLate: readonly Break[] = [
  { under: 'holder-cut-off', check: 'mutual-exclusion', because: 'two-inside-at-once' },
  { under: 'event-loop-blocked', check: 'mutual-exclusion', because: 'two-inside-at-once' },
];
const paused: readonly Break[] = [
  { under: 'holder-pauses', check: 'one-order-per-user', because: 'paused-past-lease' },
  pausedOverlap,
  ...toldLate,
];
/** As many servers as the lock needs, and one of them loses it. */
const forgottenOverlap: Break = {
  under: 'restart-empty',
  check: 'mutual-exclusion',
  because: 'two-inside-at-once',
};
const forgotten: readonly Break[] = [
  { under: 'restart-empty', check: 'one-order-per-user', because: 'lock-forgotten' },
  forgottenOverlap,
];
const staleOverlap: Break = {
  under: 'stale-promotion',
  check: 'mutual-exclusion',
  because: 'two-inside-at-once',
};
const stale: readonly Break[] = [
  { under: 'stale-promotion', check: 'one-order-per-user', because: 'replica-without-lock' },
  staleOverlap,
];
const fencesStartAgain: Break = {
  under: 'restart-empty-delayed',
  check: 'mutual-exclusion',
  because: 'fences-start-again',
};
/** The count of the fences is lost with the lock. */
const fenceForgotten: readonly Break[] = [
  { under: 'stale-promotion', check: 'one-order-per-user', because: 'fence-given-again' },
  staleOverlap,
  { under: 'restart-empty', check: 'one-order-per-user', because: 'fence-given-again' },
  forgottenOverlap,
  fencesStartAgain,
];
const onOneRedis: readonly Break[] = [...stale, ...forgotten];
/** It does not release what it is granted after it gave up. */
const lateGrants: readonly Break[] = [
  { under: 'servers-slow', check: 'progress', because: 'late-grant-stays' },
  { under: 'servers-hung', check: 'progress', because: 'late-grant-stays' },
];
const emptyZookeeper: readonly Break[] = [...forgotten, fencesStartAgain];
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

const notPublished: Break = {
  under: 'crash-before-publish',
  check: 'redis-matches-mysql',
  because: 'claimed-not-published',
};
/** An accepted order that is in no store: its client has an id, and its stock is used up. */
const losesOrder = (under: Circumstance, because: Reason): readonly Break[] => [
  { under, check: 'no-lost-orders', because },
  { under, check: 'redis-matches-mysql', because },
];
const queued = {
  chapter: 5,
  scope: 'voucher',
  inventory: claimQueued,
  rails: true,
} as const;

const oneInstance = { instances: 1 } as const;
const manyPerUser = { scope: 'voucher', onePerUser: false } as const;

/** What a row leaves out. */
const defaults = {
  lockInside: false,
  scope: 'user',
  queueServer: 'redis-main',
  inventory: (connections) => checkThenInsert(connections.mysql()),
  instances: 4,
  rails: false,
  onePerUser: true,
  pauses: [],
  breaks: [],
} as const satisfies Partial<Rung>;

type Row = Pick<Rung, 'chapter'> & Partial<Rung>;

export const rung = (row: Row): Rung => ({ ...defaults, ...row });

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
    lockOf: 'redis-atomic',
    lockService: oneRedis,
    stockWithLock: true,
    inventory: (c) => redisStock(c.mysql(), c.redis('admin'), c.saleKeys),
    breaks: [
      {
        under: 'crash-between-writes',
        check: 'redis-matches-mysql',
        because: 'taken-in-redis-only',
      },
      ...overlapping,
      pausedOverlap,
      ...toldLate,
      {
        under: 'stale-promotion',
        check: 'redis-matches-mysql',
        because: 'replica-without-lock',
      },
      staleOverlap,
      waitsForItself,
    ],
  }),
  'redis-semaphore-stock': rung({
    chapter: 1,
    ...manyPerUser,
    inventory: (c) => redisSemaphoreStock(c.mysql(), c.redis('admin'), c.saleKeys),
    breaks: [
      { under: 'crash-between-writes', check: 'redis-matches-mysql', because: 'permit-lost' },
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
    lockOf: 'mutex-per-user',
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
    lockOf: 'mutex-per-user',
    lockInside: true,
    inventory: lockInside,
    pauses: ['before-commit:1:500'],
    breaks: [releasedBeforeCommit, ...perProcess, waitsForItself, neverReleased],
  }),
  'mutex-bypassed-transaction': rung({
    chapter: 2,
    ...oneInstance,
    lock: mutex,
    lockOf: 'mutex-per-user',
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
    lockOf: 'mutex-per-user',
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
    lockService: oneRedis,
    breaks: [
      { under: 'holder-dies', check: 'progress', because: 'key-stays' },
      { under: 'crash-before-expire', check: 'progress', because: 'key-stays' },
      { under: 'holder-cut-off', check: 'progress', because: 'release-lost' },
      ...onOneRedis,
      ...lateGrants,
      waitsForItself,
      neverReleased,
    ],
  }),
  'redis-expiry-later': rung({
    chapter: 3,
    lock: (c) => redisExpiryLaterLock(c.redis('lock'), timedLock(c)),
    lockService: oneRedis,
    breaks: [
      { under: 'crash-before-expire', check: 'progress', because: 'key-without-expiry' },
      { under: 'release-after-expiry', check: 'one-order-per-user', because: 'deletes-next-key' },
      ...outlasted,
      ...onOneRedis,
      ...lateGrants,
      waitsForItself,
    ],
  }),
  'redis-expiry': rung({
    chapter: 3,
    lock: expiry,
    lockService: oneRedis,
    breaks: [
      { under: 'release-after-expiry', check: 'one-order-per-user', because: 'deletes-next-key' },
      ...outlasted,
      ...onOneRedis,
      ...lateGrants,
      waitsForItself,
    ],
  }),
  'redis-owner': rung({
    chapter: 3,
    lock: (c) => redisOwnerLock(c.redis('lock'), timedLock(c)),
    lockService: oneRedis,
    breaks: [
      {
        under: 'lease-expires-in-release',
        check: 'mutual-exclusion',
        because: 'deletes-in-the-gap',
      },
      ...outlasted,
      ...onOneRedis,
      waitsForItself,
    ],
  }),
  'redis-atomic': rung({
    chapter: 3,
    lock: atomic,
    lockService: oneRedis,
    breaks: [...outlasted, ...onOneRedis, waitsForItself],
  }),
  'redis-no-retry': rung({
    chapter: 3,
    lock: atomic,
    lockOf: 'redis-atomic',
    lockService: oneRedis,
    waitMs: 0,
    breaks: [...outlasted, ...onOneRedis],
  }),
  'redis-message': rung({
    chapter: 3,
    lock: (c) => redisMessageLock(c.redis('lock'), messageLock(c)),
    lockService: oneRedis,
    breaks: [
      { under: 'lost-wakeup', check: 'progress', because: 'message-lost' },
      ...outlasted,
      ...onOneRedis,
      waitsForItself,
    ],
  }),
  'redis-reentrant-lease': rung({
    chapter: 3,
    lock: (c) => redisReentrantLeaseLock(reentrant(c), c.config.LOCK_LEASE_MS),
    lockService: oneRedis,
    breaks: [...outlasted, ...onOneRedis],
  }),
  'redis-reentrant': rung({
    chapter: 3,
    lock: reentrant,
    lockService: oneRedis,
    breaks: [...paused, ...onOneRedis, neverReleased],
  }),
  'redis-spin': rung({
    chapter: 3,
    lock: (c) => redisSpinLock(c.redis('lock'), watchedLock(c)),
    lockService: oneRedis,
    breaks: [...paused, ...onOneRedis, neverReleased],
  }),
  'redis-fair': rung({
    chapter: 3,
    lock: (c) =>
      redisFairLock(c.redis('lock'), { ...notifiedLock(c), turnMs: c.config.LOCK_TURN_MS }),
    lockService: oneRedis,
    breaks: [
      { under: 'waiter-dies', check: 'progress', because: 'dead-waiter-blocks' },
      ...paused,
      ...onOneRedis,
      neverReleased,
    ],
  }),
  'zookeeper-latch': rung({
    chapter: 3,
    lock: (c) => zookeeperLatchLock(c.zookeeper(), { answerMs: c.config.LOCK_ANSWER_MS }),
    lockService: oneZookeeper,
    breaks: [
      { under: 'lost-wakeup', check: 'progress', because: 'latch-missed' },
      ...paused,
      ...emptyZookeeper,
      neverReleased,
      waitsForItself,
    ],
  }),
  zookeeper: rung({
    chapter: 3,
    lock: (c) => zookeeperLock(c.zookeeper(), { answerMs: c.config.LOCK_ANSWER_MS }),
    lockService: oneZookeeper,
    breaks: [...paused, ...emptyZookeeper, neverReleased],
  }),
  multilock: rung({
    chapter: 4,
    lock: (c) => multiLock(eachMaster(c), { answerMs: c.config.LOCK_ANSWER_MS }),
    lockService: { servers: masters, needed: 3 },
    breaks: [...paused, neverReleased],
  }),
  redlock: rung({
    chapter: 4,
    lock: (c) => redlockLock(c.redlockMasters(), timedLock(c)),
    lockService: { servers: masters, needed: 2 },
    breaks: [...outlasted, ...stale, ...forgotten, waitsForItself],
  }),
  'fenced-by-redis': rung({
    chapter: 4,
    lock: (c) => fencedByRedisLock(atomic(c), c.redis('lock'), c.mysql(), endlessLock(c)),
    lockService: oneRedis,
    inventory: fenced,
    breaks: [...overlapping, pausedOverlap, ...toldLate, ...fenceForgotten, waitsForItself],
  }),
  fenced: rung({
    chapter: 4,
    lock: (c) => fencedLock(atomic(c), c.mysql(), endlessLock(c)),
    lockService: oneRedis,
    inventory: fenced,
    breaks: [
      ...overlapping,
      pausedOverlap,
      ...toldLate,
      forgottenOverlap,
      staleOverlap,
      waitsForItself,
    ],
  }),
  'unique-rail': rung({
    chapter: 4,
    lock: expiry,
    lockOf: 'redis-expiry',
    lockService: oneRedis,
    rails: true,
    breaks: [
      ...overlapping,
      pausedOverlap,
      ...toldLate,
      forgottenOverlap,
      staleOverlap,
      ...lateGrants,
      waitsForItself,
    ],
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
  memory: rung({
    ...queued,
    queue: (c) => memoryQueue({ ...batches(c), limit: c.config.QUEUE_LIMIT }),
    queueInProcess: true,
    breaks: [
      notPublished,
      ...losesOrder('instance-dies', 'gone-with-its-process'),
      ...losesOrder('worker-dies', 'gone-with-its-process'),
    ],
  }),
  'redis-list': rung({
    ...queued,
    queue: (c) => redisListQueue(c.redis('admin'), c.saleKeys, consumed(c)),
    breaks: [notPublished, ...losesOrder('worker-dies', 'popped-and-lost')],
  }),
  'redis-list-reliable': rung({
    ...queued,
    queue: (c) => redisReliableListQueue(c.redis('admin'), c.saleKeys, claimed(c)),
    breaks: [notPublished],
  }),
  'redis-pubsub': rung({
    ...queued,
    queue: (c) => redisPubsubQueue(c.redis('admin'), c.saleKeys, consumed(c, 'subscriber')),
    breaks: [
      notPublished,
      ...losesOrder('worker-dies', 'heard-and-lost'),
      ...losesOrder('worker-away', 'nobody-listened'),
      ...losesOrder('queue-restarts', 'nobody-listened'),
    ],
  }),
  'redis-stream': rung({
    ...queued,
    queue: (c) => redisStreamQueue(c.redis('admin'), c.saleKeys, { ...consumed(c), from: 'new' }),
    breaks: [
      notPublished,
      ...losesOrder('worker-dies', 'read-and-lost'),
      ...losesOrder('worker-away', 'reads-only-new'),
    ],
  }),
  'redis-stream-last-id': rung({
    ...queued,
    queue: (c) =>
      redisStreamQueue(c.redis('admin'), c.saleKeys, { ...consumed(c), from: 'last-id' }),
    breaks: [notPublished],
  }),
  'redis-stream-group': rung({
    ...queued,
    queue: streamGroup,
    breaks: [notPublished],
  }),
  rabbitmq: rung({
    ...queued,
    queue: (c) =>
      rabbitmqQueue(c.rabbitmq(), {
        ...batches(c),
        limit: c.config.QUEUE_LIMIT,
        answerMs: c.config.PURCHASE_ANSWER_MS,
      }),
    queueServer: 'rabbitmq',
    breaks: [notPublished],
  }),
  'merged-commit': rung({
    chapter: 6,
    scope: 'voucher',
    inventory: (c, { waitMs }) => mergedCommit(c.mysql(), { waitMs }),
    rails: true,
  }),
  'unit-rows': rung({
    chapter: 6,
    scope: 'voucher',
    inventory: (c, { waitMs }) =>
      unitRows(c.mysql(), { connections: c.config.MYSQL_POOL_SIZE, waitMs }),
    rails: true,
    retries: 20,
  }),
  'lua-stream': rung({
    chapter: 6,
    scope: 'voucher',
    inventory: (c) => luaStream(c.redis('purchase'), c.saleKeys, luaStreamOptions(c)),
    queue: streamGroup, // Its script adds the order to the stream, so nobody calls publish().
    rails: true,
  }),
  'lua-buckets': rung({
    chapter: 6,
    scope: 'voucher',
    inventory: (c) => luaBuckets(c.redis('purchase'), c.saleKeys, luaStreamOptions(c)),
    queue: streamGroup,
    rails: true,
    buckets: true,
  }),
} as const satisfies Record<string, Rung>;

export type RungName = keyof typeof ladder;

export const rungNames = Object.keys(ladder) as RungName[];

export const isRungName = (name: string): name is RungName => Object.hasOwn(ladder, name);

/** Those that sell with lua/sale/purchase.lua. */
export const finalRungs = rungNames.filter((name) => name === 'lua-stream' || ladder[name].buckets);
export const isFinalRung = (rung: string): boolean => finalRungs.some((name) => name === rung);

/** Not of the ladder: the lab adds them, in its own processes only, to compare them with rungs. */
const outsiders = new Map<string, Rung>();

export const addOutsider = (name: string, outsider: Rung): void =>
  void outsiders.set(name, outsider);

/** The names of all rungs of this process: those of the ladder, and the outsiders. */
export const knownRungs = (): string[] => [...rungNames, ...outsiders.keys()];

/** Of the ladder, or an outsider. @throws UNKNOWN_RUNG, with the names of all rungs. */
export function rungNamed(name: string): Rung {
  const outsider = outsiders.get(name);
  if (outsider) return outsider;
  if (!isRungName(name)) throw serviceError('UNKNOWN_RUNG', name, rungNames);
  return ladder[name];
}

/** The rungs that a deployment may sell by: those it names, or `all`. @throws UNKNOWN_RUNG */
export function allowedRungs(names: readonly string[]): readonly string[] {
  if (names.length === 1 && names[0] === 'all') return knownRungs();
  for (const name of names) rungNamed(name);
  return names;
}
