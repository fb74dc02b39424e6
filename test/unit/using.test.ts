/** Holding a lock while something is done: what that came to is what is told, whatever becomes of the release. */
import { expect, test } from 'vitest';
import { endlessLease, type Lock, using } from '../../src/locks/lock.ts';

const broken = new Error('the release failed');
const lock: Lock = { acquire: async () => endlessLease(() => Promise.reject(broken)) };

test('a result stands when the release fails, and somebody hears of that', async () => {
  const heard: unknown[] = [];
  const options = { waitMs: 0, onReleaseFailed: (error: unknown) => heard.push(error) };
  expect(await using(lock, 'any', options, async () => 'sold')).toBe('sold');
  expect(heard).toEqual([broken]);
});

test('an error is not hidden behind a release that fails as well', async () => {
  const work = () => Promise.reject(new Error('sold nothing'));
  await expect(using(lock, 'any', { waitMs: 0 }, work)).rejects.toThrow('sold nothing');
});

test('without a lease nothing is done', async () => {
  const taken: Lock = { acquire: async () => null };
  expect(await using(taken, 'any', { waitMs: 0 }, () => Promise.reject(broken))).toBeNull();
});
