/** A lease by the clock: also while the event loop stands still. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { LeaseLost } from '../../src/service/errors.ts';
import {
  endlessLease,
  renewableLease,
  sessionLease,
  timedLease,
} from '../../src/service/locks/shared/leases.ts';
import { Ownership, Watchdog } from '../../src/service/locks/shared/ownership.ts';
import { fakeTimers } from '../support/basics.ts';

const owned = { resource: 'seat', key: 'lock:seat', owner: 'me' };
const nothing = async () => {};

/** As when the event loop stands still: time has passed, and no timer has run. */
function standStill(forMs: number): void {
  const now = performance.now();
  vi.spyOn(performance, 'now').mockReturnValue(now + forMs);
  onTestFinished(() => void vi.restoreAllMocks());
}

test('a lease that expired during a stall is not held, although its signal has not aborted', () => {
  const ownership = new Ownership(owned, { leaseMs: 500, isRenewed: true }, () => {});
  ownership.validFrom(performance.now(), 500);
  const [timed, watched] = [timedLease('seat', 500, nothing), ownership.lease(nothing, nothing)];
  for (const lease of [timed, watched]) lease.assertHeld();
  standStill(510);
  expect([timed, watched].map(({ signal }) => signal.aborted)).toEqual([false, false]);
  expect(() => timed.assertHeld()).toThrow(LeaseLost);
  expect(() => timed.assertHeld()).toThrow('seat');
  expect(() => watched.assertHeld()).toThrow('LOCK_WATCHDOG_MS');
  expect(() => watched.assertHeld()).toThrow('The lease on seat ended');
});

test('a lease whose grant came after its end lasted 0 ms, and no negative time', () => {
  expect(() => timedLease('seat', -19, nothing).assertHeld()).toThrow('ended after 0 ms');
});

/** What Redis answers the renewals of a watched lease, after a third of it. */
function watchedLease(renew: () => Promise<boolean>) {
  fakeTimers();
  const watchdog = new Watchdog(300, renew);
  const terms = { leaseMs: 300, isRenewed: true };
  const ownership = new Ownership(owned, terms, () => watchdog.unwatch(ownership));
  ownership.validFrom(performance.now(), 300);
  const lease = ownership.lease(nothing, nothing);
  watchdog.watch(ownership);
  return { ownership, lease };
}

test('a watched lease is not renewed after its release', () => {
  const renew = vi.fn(async () => true);
  const { ownership } = watchedLease(renew);
  vi.advanceTimersByTime(100);
  expect(renew).toHaveBeenCalledTimes(1);
  ownership.dropLease();
  vi.advanceTimersByTime(1_000);
  expect(renew).toHaveBeenCalledTimes(1);
  expect(vi.getTimerCount()).toBe(0);
});

test('a watched lease is lost as soon as Redis says that it has it no more', async () => {
  const { lease } = watchedLease(async () => false);
  await vi.advanceTimersByTimeAsync(100);
  expect(String(lease.signal.reason)).toContain('Redis does not have it any more');
});

test('what is left of a lease is never 0: it would delete the key', () => {
  const ownership = new Ownership(owned, { leaseMs: 500, isRenewed: false }, () => {});
  ownership.validFrom(performance.now() - 600, 500);
  expect(ownership.terms()).toEqual({ isRenewed: false, leaseMs: 1 });
});

test('a session does not know a lease any more that was released', async () => {
  const listeners = new Set<() => void>();
  const session = {
    remainingMs: () => 1_000,
    onEnd(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const lease = sessionLease('seat', session, 'advice', nothing, '7');
  expect(listeners.size).toBe(1);
  await lease.release();
  expect(listeners.size).toBe(0);
});

test('leases without an end share a signal that any number of callers listen to', async () => {
  const warn = vi.fn();
  process.on('warning', warn);
  const lease = endlessLease(nothing);
  lease.assertHeld();
  for (let count = 0; count < 50; count++) lease.signal.addEventListener('abort', () => count);
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', warn);
  expect(warn).not.toHaveBeenCalled();
});

test('a lease that is longer than the limit of a timer is held, until its end', () => {
  fakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const leaseMs = 2 ** 31 + 5;
  const ownership = new Ownership(owned, { leaseMs, isRenewed: false }, () => {});
  ownership.validFrom(performance.now(), leaseMs);
  const leases = [timedLease('seat', leaseMs, nothing), ownership.lease(nothing, nothing)];
  vi.advanceTimersByTime(leaseMs - 10);
  expect(leases.map(({ signal }) => signal.aborted)).toEqual([false, false]);
  vi.advanceTimersByTime(20);
  expect(leases.map(({ signal }) => signal.aborted)).toEqual([true, true]);
});

test('a renewal that fails loses the lease and gives it back once, whatever its owner does', async () => {
  const giveBack = vi.fn(() => Promise.reject(new Error('not heard')));
  const lease = renewableLease('seat', 1_000, async () => null, giveBack);
  await expect(lease.renew?.(1_000)).rejects.toThrow(LeaseLost);
  await new Promise((resolve) => setImmediate(resolve)); // An unhandled error would fail this test.
  expect(giveBack).toHaveBeenCalledTimes(1); // Its keys may be there still.
  await expect(lease.release()).rejects.toThrow('not heard'); // The owner hears of the failure.
  expect(giveBack).toHaveBeenCalledTimes(1);
});

test('a lease that is over is not renewed: another owner may have the lock', async () => {
  const ask = vi.fn(async () => 1_000);
  const lease = renewableLease('seat', 5, ask, nothing);
  standStill(10);
  await expect(lease.renew?.(1_000)).rejects.toThrow(LeaseLost);
  expect(ask).not.toHaveBeenCalled();
});
