/** The in-memory mutex, and polling: the parts that the contract of all locks does not cover. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import type { Lease } from '../../src/locks/lock.ts';
import { processMutex } from '../../src/locks/process-mutex.ts';
import { endlessLease } from '../../src/locks/shared/leases.ts';
import { poll } from '../../src/locks/shared/polling.ts';

const marginMs = 250;
const resource = 'voucher:1:user:1';

const leaseOf = (lease: Lease | null): Lease =>
  lease ?? expect.unreachable('the lock could not be acquired');

/** A mutex that has an owner. */
async function ownedMutex() {
  const lock = processMutex();
  const acquire = (waitMs: number, signal?: AbortSignal) =>
    lock.acquire(resource, { waitMs, ...(signal && { signal }) });
  return { acquire, owner: leaseOf(await acquire(0)) };
}

describe('the in-memory mutex', () => {
  test('serves waiters in the order of their requests', async () => {
    const { acquire, owner } = await ownedMutex();
    const served: number[] = [];
    const waiters = [1, 2, 3, 4, 5].map(async (waiter) => {
      const lease = leaseOf(await acquire(1_000));
      served.push(waiter);
      await sleep(1);
      await lease.release();
    });
    await owner.release();
    await Promise.all(waiters);
    expect(served).toEqual([1, 2, 3, 4, 5]);
  });

  test('hands the turn of an aborted waiter over to the next one', async () => {
    const { acquire, owner } = await ownedMutex();
    const caller = new AbortController();
    const aborted = acquire(1_000, caller.signal);
    const next = acquire(1_000);
    caller.abort(new Error('aborted'));
    await expect(aborted).rejects.toThrow('aborted');
    await owner.release();
    expect(await next).not.toBeNull();
  });

  test('tries once and does not queue without a wait', async () => {
    const { acquire, owner } = await ownedMutex();
    const asking = acquire(0);
    await owner.release();
    expect(await asking).toBeNull();
  });
});

describe('polling', () => {
  test('returns the first lease', async () => {
    const lease = endlessLease(async () => {});
    const attempt = vi.fn(
      async (): Promise<Lease | null> => (attempt.mock.calls.length < 3 ? null : lease),
    );
    expect(await poll(attempt, { waitMs: 5_000 }, () => 5)).toBe(lease);
    expect(attempt).toHaveBeenCalledTimes(3);
  });

  test.each([5, 10_000])(
    'waits for as long as it should and no longer, with pauses of %i ms',
    async (pauseMs) => {
      const waitMs = 60;
      const askedAt = performance.now();
      expect(
        await poll(
          async () => null,
          { waitMs },
          () => pauseMs,
        ),
      ).toBeNull();
      const waitedMs = performance.now() - askedAt;
      expect(waitedMs).toBeGreaterThanOrEqual(waitMs - 2);
      expect(waitedMs).toBeLessThan(waitMs + marginMs);
    },
  );

  test('releases a lease that was granted after the caller aborted', async () => {
    const caller = new AbortController();
    const release = vi.fn(async () => {});
    const attempt = async () => {
      caller.abort(new Error('aborted'));
      return endlessLease(release);
    };
    const asking = poll(attempt, { waitMs: 0, signal: caller.signal }, () => 5);
    await expect(asking).rejects.toThrow('aborted');
    expect(release).toHaveBeenCalledTimes(1);
  });

  test('stops when the caller aborts, and asks no more', async () => {
    const caller = new AbortController();
    const attempt = vi.fn(async () => null);
    const asking = poll(attempt, { waitMs: 60_000, signal: caller.signal }, () => 60_000);
    setTimeout(() => caller.abort(new Error('aborted')), 10);
    await expect(asking).rejects.toThrow('aborted');
    expect(attempt).toHaveBeenCalledTimes(1);
  });
});
