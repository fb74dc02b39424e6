/** What the contract of all locks cannot say of the mutex in memory, and of waiting by asking again. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { endlessLease, type Lease } from '../../src/locks/lock.ts';
import { open } from '../../src/locks/process-mutex.ts';
import { askAgain } from '../../src/locks/shared/polling.ts';

const marginMs = 250;
const resource = 'voucher:1:user:1';

const leaseOf = (lease: Lease | null): Lease =>
  lease ?? expect.unreachable('the lock was not to be had');

describe('the mutex in memory', () => {
  test('serves waiters in the order in which they came', async () => {
    const lock = open();
    const holder = leaseOf(await lock.acquire(resource, { waitMs: 0 }));
    const served: number[] = [];
    const waiters = [1, 2, 3, 4, 5].map(async (waiter) => {
      const lease = leaseOf(await lock.acquire(resource, { waitMs: 1_000 }));
      served.push(waiter);
      await sleep(1);
      await lease.release();
    });
    await holder.release();
    await Promise.all(waiters);
    expect(served).toEqual([1, 2, 3, 4, 5]);
  });

  test('does not hand itself to a waiter whose time has passed', async () => {
    const lock = open();
    const holder = leaseOf(await lock.acquire(resource, { waitMs: 0 }));
    const late = lock.acquire(resource, { waitMs: 10 });
    const patient = lock.acquire(resource, { waitMs: 1_000 });
    expect(await late).toBeNull();
    await holder.release();
    await leaseOf(await patient).release();
    await leaseOf(await lock.acquire(resource, { waitMs: 0 })).release();
  });

  test('rejects an aborted wait with its reason, at once, and is free after the holder', async () => {
    const lock = open();
    const holder = leaseOf(await lock.acquire(resource, { waitMs: 0 }));
    const caller = new AbortController();
    const reason = new Error('the client hung up');
    const waiting = lock.acquire(resource, { waitMs: 10_000, signal: caller.signal });
    caller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(await lock.acquire(resource, { waitMs: 0 })).toBeNull();
    await holder.release();
    expect(await lock.acquire(resource, { waitMs: 0 })).not.toBeNull();
  });

  test('passes the turn of an aborted waiter on to the next one', async () => {
    const lock = open();
    const holder = leaseOf(await lock.acquire(resource, { waitMs: 0 }));
    const caller = new AbortController();
    const gone = lock.acquire(resource, { waitMs: 1_000, signal: caller.signal });
    const next = lock.acquire(resource, { waitMs: 1_000 });
    caller.abort(new Error('gone'));
    await expect(gone).rejects.toThrow('gone');
    await holder.release();
    expect(await next).not.toBeNull();
  });

  test('tries once, and does not queue, when there is no time to wait', async () => {
    const lock = open();
    const holder = leaseOf(await lock.acquire(resource, { waitMs: 0 }));
    const asking = lock.acquire(resource, { waitMs: 0 });
    await holder.release();
    expect(await asking).toBeNull();
  });

  test('takes nothing for a caller that had left before', async () => {
    const lock = open();
    const left = new Error('left');
    const signal = AbortSignal.abort(left);
    await expect(lock.acquire(resource, { waitMs: 0, signal })).rejects.toBe(left);
    expect(await lock.acquire(resource, { waitMs: 0 })).not.toBeNull();
  });
});

describe('asking again', () => {
  test('tries once when there is no time to wait', async () => {
    const attempt = vi.fn(async () => null);
    expect(await askAgain(attempt, { waitMs: 0 }, 5)).toBeNull();
    expect(attempt).toHaveBeenCalledTimes(1);
  });

  test('returns the first lease that it is given', async () => {
    const lease = endlessLease(async () => {});
    const attempt = vi.fn(
      async (): Promise<Lease | null> => (attempt.mock.calls.length < 3 ? null : lease),
    );
    expect(await askAgain(attempt, { waitMs: 5_000 }, 5)).toBe(lease);
    expect(attempt).toHaveBeenCalledTimes(3);
  });

  test.each([5, 10_000])(
    'waits as long as it was told and no longer, asking every %i ms',
    async (retryMs) => {
      const waitMs = 60;
      const askedAt = performance.now();
      expect(await askAgain(async () => null, { waitMs }, retryMs)).toBeNull();
      const waitedMs = performance.now() - askedAt;
      expect(waitedMs).toBeGreaterThanOrEqual(waitMs - 2);
      expect(waitedMs).toBeLessThan(waitMs + marginMs);
    },
  );

  test('gives back a lease that came after the caller had left', async () => {
    const caller = new AbortController();
    const release = vi.fn(async () => {});
    const attempt = async () => {
      caller.abort(new Error('left'));
      return endlessLease(release);
    };
    const asking = askAgain(attempt, { waitMs: 0, signal: caller.signal }, 5);
    await expect(asking).rejects.toThrow('left');
    expect(release).toHaveBeenCalledTimes(1);
  });

  test('stops waiting when the caller leaves, and asks no more', async () => {
    const caller = new AbortController();
    const attempt = vi.fn(async () => null);
    const asking = askAgain(attempt, { waitMs: 60_000, signal: caller.signal }, 60_000);
    setTimeout(() => caller.abort(new Error('left')), 10);
    await expect(asking).rejects.toThrow('left');
    expect(attempt).toHaveBeenCalledTimes(1);
  });
});
