/** `lockstep/locks` has the locks that hold: what breaks them is no fault of the lock. */
import { expect, test } from 'vitest';
import * as exported from '../../src/exports/locks.ts';
import type { Circumstance } from '../../src/ladder/rung.ts';
import { type RungName, rungNamed, rungNames } from '../../src/ladder/rungs.ts';

/** Every lock breaks then: its server lost it, its owner stood still, or its program is wrong. */
const notItsFault: readonly Circumstance[] = [
  ...(['stale-promotion', 'restart-empty', 'restart-empty-delayed', 'holder-cut-off'] as const),
  ...(['holder-pauses', 'event-loop-blocked', 'waiter-dies'] as const),
  ...(['lease-expires-during-sale', 'release-after-expiry'] as const),
  ...(['re-entry', 'never-released'] as const),
];

const locks = Object.keys(exported).filter((name) => /(Lock|Mutex)$/.test(name));
const needed = (rung: RungName) => rungNamed(rung).breaks.map(({ under }) => under);
/** By the first function that its factory names. */
const lockOf = (rung: RungName) => /\w+(?:Lock|Mutex)\b/.exec(String(rungNamed(rung).lock))?.[0];
const rungsOf = (lock: string) => rungNames.filter((name) => lockOf(name) === lock);

const faultsOf = (lock: string): Circumstance[] =>
  rungsOf(lock).flatMap((rung) => needed(rung).filter((under) => !notItsFault.includes(under)));

test.each(locks.filter((name) => !['processMutex', 'redisAtomicLock'].includes(name)))(
  '%s is the lock of a rung that nothing else breaks',
  (lock) => {
    expect(rungsOf(lock)).not.toEqual([]);
    expect(faultsOf(lock)).toEqual([]);
  },
);

test('processMutex breaks on several instances only, and redisAtomicLock as its own rung does', () => {
  expect(locks).toEqual(expect.arrayContaining(['processMutex', 'redisAtomicLock']));
  const mutex = needed('mutex-per-user').filter((under) => !notItsFault.includes(under));
  expect([...new Set(mutex)]).toEqual(['several-instances']);
  expect(needed('redis-atomic').filter((under) => !notItsFault.includes(under))).toEqual([]);
});

test.each(['redisMessageLock', 'redisOwnerLock', 'redisExpiryLock', 'zookeeperLatchLock'])(
  '%s would be refused',
  (lock) => {
    expect(rungsOf(lock)).not.toEqual([]);
    expect(faultsOf(lock)).not.toEqual([]);
  },
);
