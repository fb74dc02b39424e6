/** A stop has a deadline: a store that never answers must not keep the process. */
import { pino } from 'pino';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { endOnceOverdue } from '../../src/service/processes/stop-deadline.ts';

const drainMs = 1_000;
const overdueMs = drainMs + 4_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

function stopped() {
  const lines: string[] = [];
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  const stop = new AbortController();
  endOnceOverdue(stop.signal, drainMs, pino({}, { write: (line) => void lines.push(line) }));
  return { stop, exit, lines };
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

test('a stop that takes longer ends the process, and says what was open', () => {
  const { stop, exit, lines } = stopped();
  stop.abort();
  vi.advanceTimersByTime(overdueMs);
  expect(exit.mock.calls).toEqual([[1]]);
  expect(JSON.parse(lines.join(''))).toMatchObject({
    ...{ event: 'stop-overdue', withinMs: overdueMs, open: expect.any(Array) },
  });
});
