/** `lockstep/locks` has the locks that hold: what breaks them is no fault of the lock. */
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import * as exported from '../../src/service/exports/locks.ts';
import type { Circumstance } from '../../src/service/ladder/rung.ts';
import { type RungName, rungNamed, rungNames } from '../../src/service/ladder/rungs.ts';
import type { Lock } from '../../src/service/locks/lock.ts';

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

describe('a mistake of the program is told as one, by', () => {
  const redis = new Redis({ lazyConnect: true, retryStrategy: () => null });
  const masters = [redis];
  const { processMutex, redisAtomicLock, redisReentrantLock, redisSpinLock } = exported;
  const makers: Readonly<Record<string, (options?: object) => Lock>> = {
    multiLock: (options) =>
      exported.multiLock([{ redis, lock: redisReentrantLock(redis) }], options),
    processMutex,
    redisAtomicLock: (options) => redisAtomicLock(redis, options),
    redisFairLock: (options) => exported.redisFairLock(redis, options),
    redisReentrantLock: (options) => redisReentrantLock(redis, options),
    redisSpinLock: (options) => redisSpinLock(redis, options),
    redlockLock: (options) => exported.redlockLock(masters, options),
  };
  test('every lock', () => {
    expect(Object.keys(makers).sort()).toEqual(locks.sort());
  });

  test.each(locks)('%s, in what is asked of it', async (name) => {
    const lock = makers[name]?.() as { acquire(...asked: unknown[]): Promise<unknown> };
    const wrong = [undefined, {}, { waitMs: -1 }, { waitMs: Number.NaN }, { waitMs: '5' }];
    const leases = [-1, 0, 1.5, Number.POSITIVE_INFINITY].map((leaseMs) => ({
      waitMs: 0,
      leaseMs,
    }));
    for (const options of [...wrong, ...leases])
      await expect(lock.acquire('a', options), JSON.stringify(options)).rejects.toThrow(
        exported.OptionInvalid,
      );
    await expect(lock.acquire(7, { waitMs: 0 })).rejects.toThrow(exported.OptionInvalid);
  });

  test.each(locks.filter((name) => name !== 'processMutex'))('%s, in its options', (name) => {
    const times = ['answerMs', 'leaseMs', 'watchdogMs', 'turnMs'];
    for (const option of times)
      for (const value of [-1, 0, 1.5, Number.NaN, '5'])
        expect(() => makers[name]?.({ [option]: value }), option).toThrow(exported.OptionInvalid);
    expect(() => makers[name]?.({ keyPrefix: 7 })).toThrow(exported.OptionInvalid);
  });

  test('multiLock and redlockLock, without a master', () => {
    expect(() => exported.multiLock([])).toThrow(exported.OptionInvalid);
    expect(() => exported.redlockLock([])).toThrow(exported.OptionInvalid);
  });
});
