/** Work while holding a lock: its result stands, also when the release fails. */
import { expect, test } from 'vitest';
import { type Lock, using } from '../../src/service/locks/lock.ts';
import { endlessLease } from '../../src/service/locks/shared/leases.ts';

const broken = new Error('the release failed');
const lock: Lock = { acquire: async () => endlessLease(() => Promise.reject(broken)) };

test('a result stands when the release fails, and the failure is reported', async () => {
  const reported: unknown[] = [];
  const options = { waitMs: 0, onReleaseFailed: (error: unknown) => reported.push(error) };
  expect(await using(lock, 'any', options, async () => 'sold')).toBe('sold');
  expect(reported).toEqual([broken]);
});

test('an error is not hidden by a release that fails as well', async () => {
  const work = () => Promise.reject(new Error('sold nothing'));
  await expect(using(lock, 'any', { waitMs: 0 }, work)).rejects.toThrow('sold nothing');
});

test('without a lease, the work does not run', async () => {
  const taken: Lock = { acquire: async () => null };
  expect(await using(taken, 'any', { waitMs: 0 }, () => Promise.reject(broken))).toBeNull();
});
