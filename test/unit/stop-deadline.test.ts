/** When a stop is overdue; test/integration/stop-overdue.test.ts has what becomes of it. */
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { endOnceOverdue } from '../../src/service/processes/open-process.ts';
import { fakeTimers, quiet } from '../support/basics.ts';

const drainMs = 1_000;
const overdueMs = drainMs + 4_000;

beforeEach(() => fakeTimers());
afterEach(() => void vi.restoreAllMocks());

function stopped() {
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  const stop = new AbortController();
  endOnceOverdue(stop.signal, drainMs, quiet);
  return { stop, exit };
}

test('a process that runs is not ended, and a stop may take its drain and some time more', () => {
  const { stop, exit } = stopped();
  vi.advanceTimersByTime(10 * overdueMs);
  stop.abort();
  vi.advanceTimersByTime(overdueMs - 1);
  expect(exit).not.toHaveBeenCalled();
});

test('the exit code of a process that is stuck stays', () => {
  process.exitCode = 75;
  onTestFinished(() => {
    process.exitCode = undefined;
  });
  const { stop, exit } = stopped();
  stop.abort();
  vi.advanceTimersByTime(overdueMs);
  expect(exit.mock.calls).toEqual([[75]]);
});
