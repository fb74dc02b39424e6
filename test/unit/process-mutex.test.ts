/** The in-memory mutex: the parts that the contract of all locks does not cover. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import type { Lease } from '../../src/service/locks/lock.ts';
import { processMutex } from '../../src/service/locks/process-mutex.ts';

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

  test('grants nothing to a caller that aborted before', async () => {
    const { acquire, owner } = await ownedMutex();
    await owner.release();
    await expect(acquire(0, AbortSignal.abort(new Error('aborted')))).rejects.toThrow('aborted');
    expect(await acquire(0)).not.toBeNull();
  });

  test('keeps nothing of a resource that nobody has or wants', async () => {
    const forget = vi.spyOn(Map.prototype, 'delete');
    const { owner } = await ownedMutex();
    expect(forget).not.toHaveBeenCalledWith(resource);
    await owner.release();
    expect(forget).toHaveBeenCalledWith(resource);
    forget.mockRestore();
  });
});
