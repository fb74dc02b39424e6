/** Waiting with a limit: what a timer, a signal and a late grant leave behind. */
import { getEventListeners } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { Alarm, inTime, keepUnlessAborted } from '../../src/service/locks/shared/deadlines.ts';
import { endlessLease } from '../../src/service/locks/shared/leases.ts';
import { poll } from '../../src/service/locks/shared/server-lock.ts';
import { fakeTimers } from '../support/basics.ts';

const gaveUp = new Error('gave up');

describe('an alarm', () => {
  test('that is set again forgets the time before', () => {
    fakeTimers();
    const alarm = new Alarm();
    const work = vi.fn();
    alarm.set(() => 0, work);
    alarm.set(() => 100, work);
    alarm.clear();
    vi.advanceTimersByTime(1_000);
    expect(work).not.toHaveBeenCalled();
  });

  test('is not early by a fraction of a millisecond', () => {
    fakeTimers();
    const looks: number[] = [];
    const times = [10.4, 0];
    const leftMs = () => times.shift() ?? 0;
    new Alarm().set(leftMs, () => looks.push(times.length));
    vi.advanceTimersByTime(10);
    expect(looks).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(looks).toEqual([0]);
  });

  test('keeps no process alive', () => {
    const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout');
    const before = timers().length;
    const alarm = new Alarm();
    alarm.set(
      () => 60_000,
      () => {},
    );
    expect(timers()).toHaveLength(before);
    alarm.clear();
  });
});

describe('work in time', () => {
  test('is not waited for by a caller that gave up before, although it is done', async () => {
    const aborted = AbortSignal.abort(gaveUp);
    await expect(inTime(Promise.resolve('done'), 1_000, aborted)).rejects.toThrow('gave up');
  });

  test('leaves no listener on the signal, however it ends', async () => {
    const { signal } = new AbortController();
    await inTime(Promise.resolve('done'), 1_000, signal);
    await inTime(new Promise(() => {}), 1, signal);
    await inTime(Promise.reject(new Error('no')), 1_000, signal).catch(() => {});
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

test('a lease that is granted to a caller that gave up is released', async () => {
  const giveBack = vi.fn(async () => {});
  const lease = endlessLease(giveBack);
  expect(await keepUnlessAborted(lease, new AbortController().signal)).toBe(lease);
  expect(giveBack).not.toHaveBeenCalled();
  const late = keepUnlessAborted(lease, AbortSignal.abort(gaveUp));
  await expect(late).rejects.toThrow('gave up');
  expect(giveBack).toHaveBeenCalledTimes(1);
});

describe('polling', () => {
  test('returns the first lease', async () => {
    const lease = endlessLease(async () => {});
    const answers = [null, null, lease];
    const attempt = vi.fn(async () => answers.shift() ?? null);
    expect(await poll(attempt, { waitMs: 5_000 }, () => 5)).toBe(lease);
    expect(attempt).toHaveBeenCalledTimes(3);
  });

  test.each([5, 10_000])(
    'waits for as long as it should and no longer, with pauses of %i ms',
    async (pauseMs) => {
      const waitMs = 60;
      const askedAt = performance.now();
      const none = async () => null;
      expect(await poll(none, { waitMs }, () => pauseMs)).toBeNull();
      const waitedMs = performance.now() - askedAt;
      expect(waitedMs).toBeGreaterThanOrEqual(waitMs - 2);
      expect(waitedMs).toBeLessThan(5_000);
    },
  );

  test('releases a lease that was granted after the caller aborted', async () => {
    const caller = new AbortController();
    const release = vi.fn(async () => {});
    const attempt = async () => {
      caller.abort(gaveUp);
      return endlessLease(release);
    };
    const asking = poll(attempt, { waitMs: 0, signal: caller.signal }, () => 5);
    await expect(asking).rejects.toThrow('gave up');
    expect(release).toHaveBeenCalledTimes(1);
  });

  test('asks nothing for a caller that gave up before', async () => {
    const ask = vi.fn(async () => null);
    const options = { waitMs: 1_000, signal: AbortSignal.abort(gaveUp) };
    await expect(poll(ask, options, () => 1)).rejects.toThrow('gave up');
    expect(ask).not.toHaveBeenCalled();
  });

  test('stops when the caller aborts, and asks no more', async () => {
    const caller = new AbortController();
    const attempt = vi.fn(async () => null);
    const asking = poll(attempt, { waitMs: 60_000, signal: caller.signal }, () => 60_000);
    setTimeout(() => caller.abort(gaveUp), 10);
    await expect(asking).rejects.toThrow('gave up');
    expect(attempt).toHaveBeenCalledTimes(1);
  });
});
