/** Work that Ctrl-C does not wait for. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { interruptible } from '../../src/lab/environment/session.ts';

const never = new Promise<string>(() => {});

test('returns what the work returns, and throws what it throws', async () => {
  const { signal } = new AbortController();
  expect(await interruptible(Promise.resolve('done'), signal)).toBe('done');
  await expect(interruptible(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
});

test('does not wait for the work when the signal aborts, or has aborted before', async () => {
  const interruption = new AbortController();
  const waiting = interruptible(never, interruption.signal);
  interruption.abort(new Error('interrupted'));
  await expect(waiting).rejects.toThrow('interrupted');
  await expect(interruptible(never, interruption.signal)).rejects.toThrow('interrupted');
});

test('an error of the work that comes too late is nobody’s', async () => {
  const late = (async () => {
    await sleep(20);
    throw new Error('too late');
  })();
  const aborted = AbortSignal.abort(new Error('interrupted'));
  await expect(interruptible(late, aborted)).rejects.toThrow('interrupted');
  await sleep(40); // An unhandled rejection would fail this test.
});
