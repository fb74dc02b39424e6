/**
 * A lock whose server is slow or fails: an answer in time, and errors that name the resource. The
 * work that was done under it stands, also when the release fails.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { LeaseLost, LockServiceUnavailable } from '../../src/service/errors.ts';
import { type Lease, type Lock, using } from '../../src/service/locks/lock.ts';
import { endlessLease, timedLease } from '../../src/service/locks/shared/leases.ts';
import { serverLock } from '../../src/service/locks/shared/server-lock.ts';
import { withFence } from '../../src/service/locks/shared/with-fence.ts';

const lease = (release = async () => {}): Lease => endlessLease(release);

test('a server that never answers is given the wait and one answer time, and no more', async () => {
  const lock = serverLock({ acquire: () => new Promise(() => {}) }, 100);
  const askedAt = performance.now();
  const refusal = lock.acquire('seat', { waitMs: 50 });
  await expect(refusal).rejects.toThrow(LockServiceUnavailable);
  await expect(refusal).rejects.toThrow('The lock on seat is not available');
  const tookMs = performance.now() - askedAt;
  expect(tookMs).toBeGreaterThanOrEqual(150);
  expect(tookMs).toBeLessThan(5_000);
});

test('a lease that is granted too late is released', async () => {
  const release = vi.fn(async () => {});
  const lock = serverLock({ acquire: () => sleep(200, lease(release)) }, 20);
  await expect(lock.acquire('seat', { waitMs: 0 })).rejects.toThrow(LockServiceUnavailable);
  expect(release).not.toHaveBeenCalled();
  await sleep(300);
  expect(release).toHaveBeenCalledTimes(1);
});

test('a lease that ended before its answer came is released, and not handed out', async () => {
  const release = vi.fn(async () => {});
  const ended = timedLease('seat', -1, release);
  const lock = serverLock({ acquire: async () => ended });
  const refusal = lock.acquire('seat', { waitMs: 0 });
  const cause = expect.any(LeaseLost);
  await expect(refusal).rejects.toMatchObject({ code: 'LOCK_SERVICE_UNAVAILABLE', cause });
  expect(release).toHaveBeenCalledTimes(1);
});

test('every failure names the resource, whether at the acquire or at the release', async () => {
  const cause = new Error('Connection is closed.');
  const named = { message: expect.stringContaining('The lock on seat'), cause };
  const failing = serverLock({ acquire: () => Promise.reject(cause) });
  await expect(failing.acquire('seat', { waitMs: 0 })).rejects.toMatchObject(named);
  const granting = serverLock({ acquire: async () => lease(() => Promise.reject(cause)) });
  const granted = await granting.acquire('seat', { waitMs: 0 });
  await expect(granted?.release()).rejects.toMatchObject(named);
});

test('an error that counts the servers itself is kept, and so is the reason of an abort', async () => {
  const counted = new LockServiceUnavailable('seat', 1, 2);
  const short = serverLock({ acquire: () => Promise.reject(counted) });
  await expect(short.acquire('seat', { waitMs: 0 })).rejects.toBe(counted);
  const signal = AbortSignal.abort(new Error('enough'));
  await expect(short.acquire('seat', { waitMs: 0, signal })).rejects.toThrow('enough');
});

test('a wait without an end does not end at once', async () => {
  const lock = serverLock({ acquire: () => sleep(50, lease()) });
  const waitMs = Number.POSITIVE_INFINITY;
  expect(await lock.acquire('seat', { waitMs })).not.toBeNull();
});

test('a lease without a fence is released, and the missing fence is the error', async () => {
  const noFence = new Error('MySQL is away');
  const release = vi.fn(() => Promise.reject(new Error('not heard')));
  const acquire = async () => lease(release);
  const lock = withFence({ acquire }, () => Promise.reject(noFence), {});
  const refusal = lock.acquire('seat', { waitMs: 0 });
  const named = { message: expect.stringContaining('The lock on seat is not available') };
  await expect(refusal).rejects.toBeInstanceOf(LockServiceUnavailable);
  await expect(refusal).rejects.toMatchObject({ ...named, cause: noFence });
  expect(release).toHaveBeenCalledTimes(1);
});

const broken = new Error('the release failed');
const unreleasable: Lock = { acquire: async () => lease(() => Promise.reject(broken)) };

test('a result stands when the release fails, and the failure is reported', async () => {
  const reported: unknown[] = [];
  const options = { waitMs: 0, onReleaseFailed: (error: unknown) => reported.push(error) };
  expect(await using(unreleasable, 'any', options, async () => 'sold')).toBe('sold');
  expect(reported).toEqual([broken]);
});

test('an error is not hidden by a release that fails as well', async () => {
  const work = () => Promise.reject(new Error('sold nothing'));
  await expect(using(unreleasable, 'any', { waitMs: 0 }, work)).rejects.toThrow('sold nothing');
});

test('without a lease, the work does not run', async () => {
  const taken: Lock = { acquire: async () => null };
  expect(await using(taken, 'any', { waitMs: 0 }, () => Promise.reject(broken))).toBeNull();
});
