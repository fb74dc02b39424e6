import { describe, expect, test, vi } from 'vitest';
import { purchaseLimits } from '../../src/service/http/purchase-limits.ts';
import { fakeTimers } from '../support/basics.ts';

const limits = (tries: number, most = 1) =>
  purchaseLimits({ USER_TRIES_PER_SECOND: tries, PURCHASES_AT_ONCE: most });

describe('the tries of a user', () => {
  test('are so many in a second, and each user has their own', () => {
    fakeTimers({ toFake: ['performance'] });
    vi.advanceTimersByTime(5_000);
    const { msUntilTry } = limits(2);
    expect(['7', '7', '7', '8'].map(msUntilTry)).toEqual([0, 0, 1_000, 0]);
    vi.advanceTimersByTime(999);
    expect(msUntilTry('7')).toBe(1);
    vi.advanceTimersByTime(1);
    expect(['7', '7', '7'].map(msUntilTry)).toEqual([0, 0, 1_000]);
  });

  test('are not counted where there is no limit', () => {
    const { msUntilTry } = limits(0);
    expect(Array.from({ length: 100 }, () => msUntilTry('7'))).toEqual(Array(100).fill(0));
  });
});

describe('the purchases at once', () => {
  test('are so many, and the next one is not begun', async () => {
    const { unlessFull } = limits(0, 2);
    const later = () => Promise.resolve('sold');
    const first = [unlessFull(later), unlessFull(later)];
    expect(unlessFull(() => 'begun')).toBeNull();
    expect(await Promise.all(first)).toEqual(['sold', 'sold']);
    expect(unlessFull(() => 'begun')).toBe('begun');
  });

  const fail = () => {
    throw new Error('no');
  };
  test.each([
    ['throws', fail],
    ['rejects', async () => fail()],
    ['is known at once', () => 'sold'],
  ])('are one fewer after one that %s', async (_, work) => {
    const { unlessFull } = limits(0);
    await (async () => unlessFull<string>(work))().catch(() => {});
    expect(unlessFull(() => 'begun')).toBe('begun');
  });
});
