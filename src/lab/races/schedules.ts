/**
 * The famous races as data: which request runs up to which checkpoint, in which order. A lane is
 * one request; it runs until it reaches the checkpoint, is answered, or waits for a lock. On the
 * next rung the same schedule must do no harm.
 */
import { isQueueFault } from './queue-faults.ts';
import { queueSchedules } from './queue-schedules.ts';
import { workerLane } from './race-keys.ts';
import type { Schedule, Step } from './schedule.ts';

export type { Need, Schedule, Step } from './schedule.ts';

const sameUser = { A: '7', B: '7' };
const lockFault = {
  instances: 4,
  stock: 5,
  lanes: sameUser,
  needs: 'lock-service',
  shows: 'one-order-per-user',
} as const;

const beforeCommit = (run: string, text: string): Step[] => [
  { run, until: 'before-commit', orUntil: ['before-release'], text },
];

export const schedules = {
  'lost-update': {
    title: 'two sales read the same stock, and both write it back one lower',
    under: 'two-requests-at-once',
    rung: 'read-then-write',
    next: 'version-check',
    instances: 1,
    stock: 1,
    lanes: { A: '7', B: '8' },
    shows: 'no-oversell',
    steps: [
      { run: 'A', until: 'after-check', text: 'reads the stock: 1 is left' },
      { run: 'B', until: 'after-check', text: 'reads the stock: 1 is left' },
      { run: 'A', until: 'answer', text: 'writes 0 and inserts its order' },
      { run: 'B', until: 'answer', text: 'writes 0 again, inserts another', wrong: true },
    ],
  },
  'check-then-insert': {
    title: 'two requests of one user both check before either inserts',
    under: 'two-requests-at-once',
    rung: 'check-then-insert',
    next: 'mutex-per-user',
    instances: 1,
    stock: 5,
    lanes: sameUser,
    shows: 'one-order-per-user',
    steps: [
      { run: 'A', until: 'after-check', text: 'finds no order' },
      { run: 'B', until: 'after-check', text: 'finds no order' },
      { run: 'A', until: 'answer', text: 'inserts an order' },
      { run: 'B', until: 'answer', text: 'inserts a second order', wrong: true },
    ],
  },
  'unlock-before-commit': {
    title: 'the lock is released before the commit',
    under: 'two-requests-at-once',
    rung: 'mutex-inside-transaction',
    next: 'mutex-per-user',
    instances: 1,
    stock: 5,
    lanes: sameUser,
    shows: 'one-order-per-user',
    steps: [
      { run: 'A', until: 'before-commit', text: 'has released, not yet committed' },
      { run: 'B', until: 'after-check', text: 'gets the lock and finds no order' },
      { run: 'A', until: 'answer', text: 'commits' },
      { run: 'B', until: 'answer', text: 'inserts a second order', wrong: true },
    ],
  },
  'crash-between-writes': {
    title: 'the process dies between two writes that are not in a transaction',
    under: 'crash-between-writes',
    rung: 'mutex-bypassed-transaction',
    next: 'mutex-per-user',
    instances: 4,
    stock: 1,
    lanes: { A: '7', B: '8' },
    shows: 'no-oversell',
    steps: [
      {
        run: 'A',
        until: 'stock-taken',
        orUntil: ['before-commit', 'before-release'],
        text: 'has taken the last one',
      },
      { kill: 'A', text: 'dies before it inserts its order' },
      { expire: 'A', text: 'the time of a lease passes' },
      { run: 'B', until: 'answer', text: 'sold out, but nobody bought it', wrong: true },
    ],
  },
  'two-processes': {
    title: 'each process has its own mutex',
    under: 'several-instances',
    rung: 'mutex-per-user',
    next: 'redis-no-expiry',
    instances: 4,
    stock: 5,
    lanes: sameUser,
    shows: 'one-order-per-user',
    steps: [
      { run: 'A', until: 'after-check', text: 'has the mutex of its process' },
      { run: 'B', until: 'after-check', text: 'has the mutex of another process' },
      { run: 'A', until: 'answer', text: 'inserts an order' },
      { run: 'B', until: 'answer', text: 'inserts a second order', wrong: true },
    ],
  },
  'dead-holder': {
    title: 'the owner dies, and its lock stays',
    under: 'holder-dies',
    rung: 'redis-no-expiry',
    next: 'redis-expiry',
    instances: 4,
    stock: 5,
    lanes: sameUser,
    shows: 'progress',
    steps: [
      { run: 'A', until: 'after-check', orUntil: ['before-release'], text: 'has the lock' },
      { kill: 'A', text: 'dies with it' },
      { expire: 'A', text: 'the time of a lease passes' },
      { run: 'B', until: 'answer', text: 'is refused: nobody can buy now', wrong: true },
    ],
  },
  'crash-before-expire': {
    title: 'the owner dies between SETNX and EXPIRE',
    under: 'crash-before-expire',
    rung: 'redis-expiry-later',
    next: 'redis-expiry',
    instances: 4,
    stock: 5,
    lanes: sameUser,
    needs: 'lock',
    shows: 'progress',
    steps: [
      {
        run: 'A',
        until: 'before-expire',
        orUntil: ['after-acquire'],
        text: 'has set the key, without expiry',
      },
      { kill: 'A', text: 'dies before EXPIRE' },
      { expire: 'A', text: 'the time of a lease passes' },
      { run: 'B', until: 'answer', text: 'is refused: nobody can buy now', wrong: true },
    ],
  },
  'release-after-expiry': {
    title: 'a late release deletes the lock of the next owner',
    under: 'release-after-expiry',
    rung: 'redis-expiry',
    next: 'redis-owner',
    instances: 4,
    stock: 5,
    lanes: { A: '7', B: '7', C: '7' },
    needs: 'lock',
    shows: 'one-order-per-user',
    steps: [
      { run: 'A', until: 'after-check', text: 'has the lock, and stalls' },
      { expire: 'A', text: 'its lease expires' },
      { run: 'B', until: 'after-check', text: 'gets the lock and finds no order' },
      { run: 'A', until: 'answer', text: 'gives up, and deletes B’s lock' },
      { run: 'C', until: 'after-check', text: 'enters beside B, finds no order' },
      { run: 'B', until: 'answer', text: 'inserts an order' },
      { run: 'C', until: 'answer', text: 'inserts a second order', wrong: true },
    ],
  },
  'check-then-delete': {
    title: 'the lease expires between comparing and deleting',
    under: 'lease-expires-in-release',
    rung: 'redis-owner',
    next: 'redis-atomic',
    instances: 4,
    stock: 5,
    lanes: { A: '7', B: '7', C: '7' },
    needs: 'lock',
    shows: 'mutual-exclusion',
    steps: [
      { run: 'A', until: 'owner-checked', text: 'has sold; sees its own lock' },
      { expire: 'A', text: 'its lease expires right there' },
      { run: 'B', until: 'after-acquire', text: 'gets the lock' },
      { run: 'A', until: 'answer', text: 'deletes the key, which is B’s now' },
      { run: 'C', until: 'after-acquire', text: 'enters beside B', wrong: true },
      { run: 'B', until: 'answer', text: 'leaves' },
      { run: 'C', until: 'answer', text: 'leaves' },
    ],
  },
  'lease-expires-during-sale': {
    title: 'the sale takes longer than its lease',
    under: 'lease-expires-during-sale',
    rung: 'redis-atomic',
    next: 'redis-reentrant',
    instances: 4,
    stock: 5,
    lanes: sameUser,
    needs: 'lock',
    shows: 'one-order-per-user',
    steps: [
      { run: 'A', until: 'before-commit', text: 'has checked its lease, last time' },
      { expire: 'A', text: 'the time of a lease passes' },
      { run: 'B', until: 'after-check', text: 'gets the lock and finds no order' },
      { run: 'A', until: 'answer', text: 'tries to commit' },
      { run: 'B', until: 'answer', text: 'inserts a second order', wrong: true },
    ],
  },
  'paused-holder': {
    title: 'the process of the owner stands still for longer than its lease (SIGSTOP)',
    under: 'holder-pauses',
    rung: 'redis-reentrant',
    next: 'fenced',
    instances: 4,
    stock: 5,
    lanes: sameUser,
    undisturbed: ['B'],
    shows: 'one-order-per-user',
    steps: [
      {
        run: 'A',
        until: 'before-commit',
        orUntil: ['before-release'],
        text: 'has checked its lease, last time',
      },
      { pause: 'A', text: 'its process stands still' },
      { expire: 'A', text: 'the time of a lease passes' },
      { run: 'B', until: 'after-check', text: 'gets the lock and finds no order' },
      { resume: 'A', text: 'runs again, and does not know it' },
      { run: 'A', until: 'answer', text: 'tries to commit' },
      { run: 'B', until: 'answer', text: 'inserts a second order', wrong: true },
    ],
  },
  're-entry': {
    title: 'the owner acquires its lock again',
    under: 're-entry',
    rung: 'redis-atomic',
    next: 'redis-reentrant',
    instances: 4,
    stock: 5,
    lanes: sameUser,
    nested: ['A'],
    needs: 'waiters',
    shows: 'progress',
    steps: [
      { run: 'A', until: 'after-acquire', text: 'has the lock, and acquires it again' },
      { run: 'A', until: 'answer', text: 'waits for itself, and gives up', wrong: true },
      { run: 'B', until: 'answer', text: 'enters as soon as A has left' },
    ],
  },
  'lost-wakeup': {
    title: 'the release comes between a waiter’s attempt and its subscription',
    under: 'lost-wakeup',
    rung: 'redis-message',
    next: 'redis-reentrant',
    instances: 4,
    stock: 5,
    lanes: sameUser,
    needs: 'waiters',
    shows: 'progress',
    steps: [
      { run: 'A', until: 'after-check', text: 'has the lock' },
      { run: 'B', until: 'before-subscribe', text: 'is refused, will subscribe' },
      { run: 'A', until: 'answer', text: 'releases; nobody listens' },
      { run: 'B', until: 'answer', text: 'sleeps beside a free lock', wrong: true },
    ],
  },
  'latch-after-exists': {
    title: 'the notes’ ZooKeeper wait: a removal between exists and the latch',
    under: 'lost-wakeup',
    rung: 'zookeeper-latch',
    next: 'zookeeper',
    instances: 4,
    stock: 5,
    lanes: sameUser,
    needs: 'waiters',
    shows: 'progress',
    steps: [
      { run: 'A', until: 'after-check', text: 'has the lock' },
      { run: 'B', until: 'before-subscribe', text: 'sees A’s node, has no latch yet' },
      { run: 'A', until: 'answer', text: 'removes its node' },
      { run: 'B', until: 'answer', text: 'sleeps beside a free lock', wrong: true },
    ],
  },
  'never-released': {
    title: 'the owner forgets to release, and its process lives on',
    under: 'never-released',
    rung: 'redis-reentrant',
    next: 'redlock',
    instances: 1,
    stock: 5,
    lanes: sameUser,
    forgets: ['A'],
    needs: 'lock',
    shows: 'progress',
    steps: [
      { run: 'A', until: 'answer', text: 'sells, and never releases' },
      { expire: 'A', text: 'the time of a lease passes' },
      { run: 'B', until: 'answer', text: 'is refused: nobody can buy now', wrong: true },
    ],
  },
  'dead-waiter': {
    title: 'the next waiter dies, and the queue waits for it',
    under: 'waiter-dies',
    rung: 'redis-fair',
    next: 'zookeeper',
    instances: 4,
    stock: 5,
    lanes: { A: '7', B: '7', C: '7' },
    needs: 'waiters',
    shows: 'progress',
    steps: [
      { run: 'A', until: 'after-check', text: 'has the lock' },
      { run: 'B', until: 'before-subscribe', text: 'is next in the queue' },
      { kill: 'B', text: 'dies in the queue' },
      { run: 'A', until: 'answer', text: 'sells and releases: B’s turn' },
      { expire: 'B', text: 'the time of a lease passes' },
      { run: 'C', until: 'answer', text: 'waits for the dead, in vain', wrong: true },
    ],
  },
  'crash-before-publish': {
    title: 'the instance dies between the claim and the queue',
    under: 'crash-before-publish',
    rung: 'redis-stream-group',
    next: 'lua-stream',
    instances: 4,
    stock: 1,
    lanes: { A: '7', B: '8' },
    needs: 'queue',
    shows: 'redis-matches-mysql',
    steps: [
      {
        run: 'A',
        until: 'claimed',
        orUntil: ['before-release'],
        text: 'has taken the last one in Redis',
      },
      { kill: 'A', text: 'dies before it queues its order' },
      { run: 'B', until: 'answer', text: 'sold out, but nobody bought it', wrong: true },
    ],
  },
  ...queueSchedules,
  'stale-promotion': {
    title: 'a replica that has not seen the lock becomes the master',
    under: 'stale-promotion',
    rung: 'redis-reentrant',
    next: 'multilock',
    ...lockFault,
    needs: 'lock-redis',
    steps: [
      { fault: 'hold-replication', text: 'the replica hears nothing more' },
      ...beforeCommit('A', 'has the lock, and checked its lease'),
      { fault: 'promote-replica', text: 'the master dies, its replica leads' },
      { run: 'B', until: 'after-check', text: 'gets the lock there, finds no order' },
      { run: 'A', until: 'answer', text: 'commits' },
      { run: 'B', until: 'answer', text: 'inserts a second order', wrong: true },
    ],
  },
  'restart-empty': {
    title: 'a lock server restarts without its data, before the lease is over',
    under: 'restart-empty',
    rung: 'redlock',
    next: 'fenced',
    ...lockFault,
    steps: [
      { fault: 'stop-spare', text: 'only as many run as the lock needs' },
      ...beforeCommit('A', 'has the lock, and checked its lease'),
      { heal: 'stop-spare', text: 'all run again' },
      { fault: 'restart-empty', text: 'one of A’s restarts empty' },
      { run: 'B', until: 'after-check', text: 'gets the lock and finds no order' },
      { run: 'A', until: 'answer', text: 'commits' },
      { run: 'B', until: 'answer', text: 'inserts a second order', wrong: true },
    ],
  },
  'restart-empty-delayed': {
    title: 'the same, but the server stays away for longer than the longest lease',
    under: 'restart-empty-delayed',
    rung: 'redlock',
    ...lockFault,
    steps: [
      { fault: 'stop-spare', text: 'only as many run as the lock needs' },
      ...beforeCommit('A', 'has the lock, and checked its lease'),
      { heal: 'stop-spare', text: 'all run again' },
      { fault: 'stop-first', text: 'one of A’s stops' },
      { run: 'A', until: 'answer', text: 'commits, long before its lease ends' },
      { expire: 'A', text: 'the time of a lease passes' },
      { fault: 'start-empty', text: 'only now it starts, empty' },
      { run: 'B', until: 'answer', text: 'finds no order, inserts another', wrong: true },
    ],
  },
  'restart-with-data': {
    title: 'a lock server is killed, and starts again with its data, within the lease',
    under: 'restart-with-data',
    rung: 'redis-reentrant',
    ...lockFault,
    steps: [
      { run: 'A', until: 'after-check', text: 'has the lock' },
      { fault: 'restart-all', text: 'killed, and started with its data' },
      { run: 'B', until: 'after-check', text: 'enters beside A' },
      { run: 'A', until: 'answer', text: 'commits' },
      { run: 'B', until: 'answer', text: 'inserts a second order', wrong: true },
    ],
  },
  'scripts-forgotten': {
    title: 'the lock servers forget every script (SCRIPT FLUSH)',
    under: 'scripts-forgotten',
    rung: 'redis-reentrant',
    ...lockFault,
    needs: 'lock-redis',
    shows: 'progress',
    steps: [
      { run: 'A', until: 'after-check', text: 'has the lock' },
      { fault: 'flush-scripts', text: 'no script is known any more' },
      { run: 'A', until: 'answer', text: 'sells, and cannot release' },
      { run: 'B', until: 'answer', text: 'is refused beside a free lock', wrong: true },
    ],
  },
  'holder-cut-off': {
    title: 'the owner’s process hears nothing more of its lock servers',
    under: 'holder-cut-off',
    rung: 'redis-reentrant',
    ...lockFault,
    lanes: { A: '7', B: '7', C: '7' },
    undisturbed: ['B'],
    steps: [
      { run: 'A', until: 'after-check', text: 'has the lock' },
      { fault: 'cut-off', of: 'A', text: 'its packets are dropped: no renewal' },
      { expire: 'A', text: 'the time of a lease passes' },
      { run: 'B', until: 'after-check', text: 'gets the lock and finds no order' },
      { run: 'A', until: 'answer', text: 'commits without its lease' },
      { run: 'B', until: 'answer', text: 'inserts a second order', wrong: true },
      { heal: 'cut-off', of: 'A', text: 'the network is back' },
      { run: 'C', until: 'answer', text: 'finds the lock free, and an order' },
    ],
  },
  'event-loop-blocked': {
    title: 'the owner’s event loop stands still for longer than the lease',
    under: 'event-loop-blocked',
    rung: 'redis-reentrant',
    ...lockFault,
    undisturbed: ['B'],
    steps: [
      { run: 'A', until: 'after-check', text: 'has the lock' },
      { fault: 'block', of: 'A', text: 'its event loop stands still' },
      { expire: 'A', text: 'its lease expires' },
      { run: 'B', until: 'after-check', text: 'gets the lock and finds no order' },
      { heal: 'block', of: 'A', text: 'runs again' },
      { run: 'A', until: 'answer', text: 'commits without its lease' },
      { run: 'B', until: 'answer', text: 'inserts a second order', wrong: true },
    ],
  },
  'servers-slow': {
    title: 'too many lock servers answer later than a client waits',
    under: 'servers-slow',
    rung: 'redlock',
    ...lockFault,
    shows: 'progress',
    expects: ['lock-service-unavailable'],
    steps: [
      { fault: 'slow', text: 'each answer is late' },
      { run: 'A', until: 'answer', text: 'gives up; the lock is granted late' },
      { heal: 'slow', text: 'answers are fast again' },
      { run: 'B', until: 'answer', text: 'is refused: nobody has the lock', wrong: true },
    ],
  },
  'servers-hung': {
    title: 'too many lock servers stand still (SIGSTOP), and run again',
    under: 'servers-hung',
    rung: 'redlock',
    ...lockFault,
    shows: 'progress',
    expects: ['lock-service-unavailable'],
    steps: [
      { fault: 'pause', text: 'no answer comes' },
      { run: 'A', until: 'answer', text: 'gives up; its question is kept' },
      { heal: 'pause', text: 'they read the question now' },
      { run: 'B', until: 'answer', text: 'is refused: nobody has the lock', wrong: true },
    ],
  },
} as const satisfies Record<string, Schedule>;

export type RaceName = keyof typeof schedules;
export const raceNames = Object.keys(schedules) as RaceName[];

/** Where a step of the servers is drawn. */
export const serversLane = 'S';

/** Its stores are reached through proxies. */
export const hasLockFaults = ({ steps }: Schedule): boolean =>
  steps.some((step) => 'fault' in step && !isQueueFault(step.fault));

/** The process that consumes the queue stops at its checkpoints. */
export const stopsWorker = ({ steps }: Schedule): boolean =>
  steps.some((step) => 'run' in step && step.run === workerLane);

/** The lane of a step. */
export function laneOf(step: Step): string {
  if ('run' in step) return step.run;
  if ('fault' in step || 'heal' in step) return step.of ?? serversLane;
  if ('kill' in step) return step.kill;
  if ('pause' in step) return step.pause;
  return 'resume' in step ? step.resume : step.expire;
}
