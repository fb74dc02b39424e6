/**
 * The famous races as data: which request runs up to which checkpoint, in which order. A lane is one request; it runs
 * until it reaches the checkpoint, is answered, or waits for a lock. The same schedule on the next rung up must do no harm.
 */
import type { CheckpointName } from '../checkpoints.ts';
import type { CheckName } from '../domain.ts';
import type { Circumstance, RungName } from '../ladder.ts';

export type Step =
  | {
      readonly run: string;
      readonly until: CheckpointName | 'answer';
      readonly says: string;
      readonly wrong?: true;
    }
  /** Waits until the lease of this lane's lock is over, or longer than a lease lasts. */
  | { readonly leaseOf: string; readonly says: string }
  /** Kills the process that this lane is in. */
  | { readonly kill: string; readonly says: string };

export interface Schedule {
  readonly title: string;
  /** The circumstance that it plays. */
  readonly under: Circumstance;
  /** The rung that has the race, and the next one up, which has not. */
  readonly rung: RungName;
  readonly next: RungName;
  readonly instances: number;
  readonly stock: number;
  /** Lane → user. */
  readonly lanes: Readonly<Record<string, string>>;
  /** Lanes whose purchase is made inside a section that holds the purchase's lock already. */
  readonly nested?: readonly string[];
  /** What proves it: a check of the audit, or a lane that was refused as busy although nobody else is in the section. */
  readonly shows: CheckName | 'somebody-can-buy';
  readonly steps: readonly Step[];
}

const sameUser = { A: '7', B: '7' };

export const schedules = {
  'lost-update': {
    title: 'two read the same stock, both write it back one lower',
    under: 'two-requests-at-once',
    rung: 'read-then-write',
    next: 'version-check',
    instances: 1,
    stock: 1,
    lanes: { A: '7', B: '8' },
    shows: 'no-oversell',
    steps: [
      { run: 'A', until: 'after-check', says: 'reads the stock: 1 is left' },
      { run: 'B', until: 'after-check', says: 'reads the stock: 1 is left' },
      { run: 'A', until: 'answer', says: 'writes 0 and inserts its order' },
      { run: 'B', until: 'answer', says: 'writes 0 again and inserts another', wrong: true },
    ],
  },
  'check-then-insert': {
    title: 'two requests of one user both look before either inserts',
    under: 'two-requests-at-once',
    rung: 'check-then-insert',
    next: 'mutex-per-user',
    instances: 1,
    stock: 5,
    lanes: sameUser,
    shows: 'one-order-per-user',
    steps: [
      { run: 'A', until: 'after-check', says: 'has no order yet' },
      { run: 'B', until: 'after-check', says: 'has no order yet' },
      { run: 'A', until: 'answer', says: 'inserts an order' },
      { run: 'B', until: 'answer', says: 'inserts the user’s second order', wrong: true },
    ],
  },
  'unlock-before-commit': {
    title: 'the lock is free before the order is committed',
    under: 'two-requests-at-once',
    rung: 'mutex-inside-transaction',
    next: 'mutex-per-user',
    instances: 1,
    stock: 5,
    lanes: sameUser,
    shows: 'one-order-per-user',
    steps: [
      { run: 'A', until: 'before-commit', says: 'has inserted, and is about to commit' },
      { run: 'B', until: 'after-check', says: 'gets the lock and sees no order' },
      { run: 'A', until: 'answer', says: 'commits' },
      { run: 'B', until: 'answer', says: 'inserts the user’s second order', wrong: true },
    ],
  },
  'killed-half-way': {
    title: 'the process dies between two writes that only look like a transaction',
    under: 'killed-half-way',
    rung: 'mutex-bypassed-transaction',
    next: 'mutex-per-user',
    instances: 4,
    stock: 1,
    lanes: { A: '7', B: '8' },
    shows: 'no-oversell',
    steps: [
      { run: 'A', until: 'stock-taken', says: 'has taken the last one from stock' },
      { kill: 'A', says: 'dies before it inserts its order' },
      { run: 'B', until: 'answer', says: 'is told sold out: nobody has it', wrong: true },
    ],
  },
  'two-processes': {
    title: 'a mutex in each process: the two never meet',
    under: 'several-instances',
    rung: 'mutex-per-user',
    next: 'redis-no-expiry',
    instances: 4,
    stock: 5,
    lanes: sameUser,
    shows: 'one-order-per-user',
    steps: [
      { run: 'A', until: 'after-check', says: 'holds the mutex of its process' },
      { run: 'B', until: 'after-check', says: 'holds the mutex of another process' },
      { run: 'A', until: 'answer', says: 'inserts an order' },
      { run: 'B', until: 'answer', says: 'inserts the user’s second order', wrong: true },
    ],
  },
  'dead-holder': {
    title: 'the holder dies, and its lock stays',
    under: 'holder-dies',
    rung: 'redis-no-expiry',
    next: 'redis-expiry',
    instances: 4,
    stock: 5,
    lanes: sameUser,
    shows: 'somebody-can-buy',
    steps: [
      { run: 'A', until: 'after-check', says: 'holds the lock' },
      { kill: 'A', says: 'dies with it' },
      { leaseOf: 'A', says: 'a lease’s time passes' },
      { run: 'B', until: 'answer', says: 'is refused: nobody can buy now', wrong: true },
    ],
  },
  'mis-delete-by-expiry': {
    title: 'a late holder deletes the lock of the next one',
    under: 'late-release',
    rung: 'redis-expiry',
    next: 'redis-owner',
    instances: 4,
    stock: 5,
    lanes: { A: '7', B: '7', C: '7' },
    shows: 'one-order-per-user',
    steps: [
      { run: 'A', until: 'after-check', says: 'holds the lock, and stalls' },
      { leaseOf: 'A', says: 'its lease ends' },
      { run: 'B', until: 'after-check', says: 'gets the lock and sees no order' },
      { run: 'A', until: 'answer', says: 'gives up, and deletes B’s lock' },
      { run: 'C', until: 'after-check', says: 'gets in beside B, and sees no order' },
      { run: 'B', until: 'answer', says: 'inserts an order' },
      { run: 'C', until: 'answer', says: 'inserts the user’s second order', wrong: true },
    ],
  },
  'mis-delete-in-the-gap': {
    title: 'the lease ends between the look and the delete',
    under: 'lease-ends-in-release',
    rung: 'redis-owner',
    next: 'redis-atomic',
    instances: 4,
    stock: 5,
    lanes: { A: '7', B: '7', C: '7' },
    shows: 'sections-never-overlap',
    steps: [
      { run: 'A', until: 'owner-checked', says: 'has sold; sees the lock as its own' },
      { leaseOf: 'A', says: 'its lease ends right there' },
      { run: 'B', until: 'after-grant', says: 'gets the lock' },
      { run: 'A', until: 'answer', says: 'deletes the key: it is B’s by now' },
      { run: 'C', until: 'after-grant', says: 'gets in beside B', wrong: true },
      { run: 'B', until: 'answer', says: 'leaves' },
      { run: 'C', until: 'answer', says: 'leaves' },
    ],
  },
  'lease-shorter-than-sale': {
    title: 'the sale outlasts its lease',
    under: 'lease-ends-in-sale',
    rung: 'redis-atomic',
    next: 'redis-reentrant',
    instances: 4,
    stock: 5,
    lanes: sameUser,
    shows: 'one-order-per-user',
    steps: [
      { run: 'A', until: 'before-commit', says: 'has looked at its lease, last time' },
      { leaseOf: 'A', says: 'a lease’s time passes' },
      { run: 'B', until: 'after-check', says: 'gets the lock and sees no order' },
      { run: 'A', until: 'answer', says: 'commits' },
      { run: 'B', until: 'answer', says: 'inserts the user’s second order', wrong: true },
    ],
  },
  're-entry': {
    title: 'the holder asks for its own lock',
    under: 're-entry',
    rung: 'redis-atomic',
    next: 'redis-reentrant',
    instances: 4,
    stock: 5,
    lanes: sameUser,
    nested: ['A'],
    shows: 'somebody-can-buy',
    steps: [
      { run: 'A', until: 'after-grant', says: 'holds the lock, and asks for it' },
      { run: 'A', until: 'answer', says: 'waits for itself, and gives up', wrong: true },
      { run: 'B', until: 'answer', says: 'gets in as soon as A has left' },
    ],
  },
  'missed-wake-up': {
    title: 'the release comes between a waiter’s try and its subscription',
    under: 'missed-message',
    rung: 'redis-message',
    next: 'redis-reentrant',
    instances: 4,
    stock: 5,
    lanes: sameUser,
    shows: 'somebody-can-buy',
    steps: [
      { run: 'A', until: 'after-check', says: 'holds the lock' },
      { run: 'B', until: 'before-subscribe', says: 'finds it taken, will subscribe' },
      { run: 'A', until: 'answer', says: 'leaves; nobody hears its message' },
      { run: 'B', until: 'answer', says: 'sleeps beside a free lock', wrong: true },
    ],
  },
  'dead-waiter': {
    title: 'who is next in line dies, and the line waits for it',
    under: 'waiter-dies',
    rung: 'redis-fair',
    next: 'zookeeper',
    instances: 4,
    stock: 5,
    lanes: { A: '7', B: '7', C: '7' },
    shows: 'somebody-can-buy',
    steps: [
      { run: 'A', until: 'after-check', says: 'holds the lock' },
      { run: 'B', until: 'before-subscribe', says: 'is next in line' },
      { kill: 'B', says: 'dies in line' },
      { run: 'A', until: 'answer', says: 'sells and leaves: it is B’s turn' },
      { leaseOf: 'B', says: 'a lease’s time passes' },
      { run: 'C', until: 'answer', says: 'waits for the dead, in vain', wrong: true },
    ],
  },
} as const satisfies Record<string, Schedule>;

export type RaceName = keyof typeof schedules;
export const raceNames = Object.keys(schedules) as RaceName[];
