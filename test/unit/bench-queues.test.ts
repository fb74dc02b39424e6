/** `bench queues`: what it computes from a load, and prints. */
import { expect, test } from 'vitest';
import {
  faultsOfRun,
  queuesReport,
  type Run,
  rowOf,
} from '../../src/lab/benchmarks/queue-benchmark.ts';
import { blocksText } from '../../src/lab/report/table.ts';

const answered = (count: number, outcome: 'accepted' | 'refused' | 'unknown', reason?: string) =>
  Array.from({ length: count }, () => ({ outcome, ...(reason && { reason }) }));

const run: Run = {
  tries: answered(1_000, 'accepted'),
  ...{ seconds: 2, recordedInTime: 400, recorded: 1_000, drainSeconds: 3 },
};
const row = rowOf('bullmq', [run]);

test('a row has both rates of the load, what waited at its end, and how long that took', () => {
  const medians = [row.acceptedPerSecond, row.recordedPerSecond, row.waiting, row.drainSeconds];
  expect(medians.map(({ median }) => median)).toEqual([500, 200, 600, 3]);
});

test('a full queue may refuse; any other refusal, and a lost order, is a fault', () => {
  const full = answered(9, 'refused', 'queue-full');
  expect(faultsOfRun('memory', { ...run, tries: [...run.tries, ...full] }, 500)).toEqual([]);
  const away = answered(2, 'refused', 'not-ready');
  expect(faultsOfRun('memory', { ...run, tries: [...run.tries, ...away] }, 500)).toEqual([
    'memory: 2 not-ready',
  ]);
  expect(faultsOfRun('memory', { ...run, recorded: 999 }, 500)).toEqual([
    'memory: 1000 orders accepted, 999 recorded',
  ]);
});

test('a load that was sent late is a fault: it was another load', () => {
  expect(faultsOfRun('memory', run, 520)).toEqual([]);
  expect(faultsOfRun('memory', run, 530)).toEqual(['memory: sent 500 purchases/s only']);
});

test('an order whose outcome is unknown may be there, or not', () => {
  const tries = [...run.tries, ...answered(1, 'unknown')];
  expect(faultsOfRun('memory', { ...run, tries, recorded: 1_001 }, 500)).toEqual([]);
  expect(faultsOfRun('memory', { ...run, tries, recorded: 1_002 }, 500)).toHaveLength(1);
});

test('prints the drain rate of a backlog, and none for a queue that keeps up', () => {
  const keepsUp = { ...run, recordedInTime: 990, drainSeconds: 0.1 };
  const report = queuesReport({
    ...{ seconds: 2, instances: 4, targets: [], faults: [], rounds: 1 },
    ...{ bullmqPerSecond: 333, rate: 500, rows: [row, rowOf('lua-stream', [keepsUp])] },
  });
  const text = blocksText(report);
  expect(text).toMatch(/^bullmq \* +500 +200 +600 +600\.\.600 +3\.0 +200$/m);
  expect(text).toMatch(/^lua-stream +500 +495 +10 +10\.\.10 +0\.1 +–$/m);
});
