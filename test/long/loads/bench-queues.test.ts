/** `bench queues` on real servers, in a short form. */
import { expect, test } from 'vitest';
import { benchmarkQueues } from '../../../src/lab/benchmarks/queue-benchmark.ts';
import { writeTokens } from '../../../src/lab/benchmarks/wrk.ts';
import { withConnections } from '../../../src/lab/environment/lab-connections.ts';
import { theLab } from '../../support/own-lab.ts';

const lab = theLab(null);

test('every queue gets at most one and a half times what BullMQ records, and loses nothing of it', async () => {
  const { bullmqPerSecond, rate, rows, faults } = await withConnections(
    lab(),
    async (connections) => {
      const tokens = await writeTokens(lab(), 20_000);
      const load = { tokens, connections: 16, seconds: 1 };
      const { signal } = new AbortController();
      const bench = { lab: lab(), connections, load, rounds: 1, signal, progress: () => {} };
      return benchmarkQueues(bench, ['lua-stream', 'rabbitmq']);
    },
  );
  // How fast a busy machine sends is no matter here; the unit tests have that fault.
  expect(faults.filter((fault) => !fault.includes('sent'))).toEqual([]);
  expect(bullmqPerSecond).toBeGreaterThan(0);
  expect(rate).toBe(Math.ceil(bullmqPerSecond * 1.5));
  expect(rows.map(({ rung }) => rung)).toEqual(['lua-stream', 'rabbitmq', 'bullmq']);
  for (const { acceptedPerSecond } of rows) {
    expect(acceptedPerSecond.least).toBeGreaterThan(0);
    expect(acceptedPerSecond.most).toBeLessThan(rate * 1.05);
  }
});
