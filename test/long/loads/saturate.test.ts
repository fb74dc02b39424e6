/** The open model of `bench saturate`: neither a slow service nor a late k6 can hide an answer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { measureRate } from '../../../src/lab/benchmarks/saturation.ts';
import { withConnections } from '../../../src/lab/environment/lab-connections.ts';
import { childrenWith } from '../../../src/lab/environment/process-table.ts';
import { waitUntil } from '../../../src/lab/environment/wait-until.ts';
import { select } from '../../../src/service/connections/mysql.ts';
import { lacksK6 } from '../../support/k6.ts';
import { theLab } from '../../support/own-lab.ts';

const lab = theLab();
/** So slow that no request is dropped while nothing stands still. */
const rate = 25;
const seconds = 8;

/** @param meanwhile is called once the first order is recorded. */
const measure = (meanwhile: () => Promise<void> = async () => {}) =>
  withConnections(lab(), async (connections) => {
    const signal = new AbortController().signal;
    const bench = { lab: lab(), connections, signal };
    const count = async () => {
      const [row] = await select<{ count: number }>(
        connections.mysql(),
        'SELECT COUNT(*) AS count FROM orders',
      );
      return Number(row?.count);
    };
    const before = await count();
    const measuring = measureRate(bench, 'lua-stream', { rate, seconds, firstUser: 1 });
    await waitUntil('the first order', 20_000, async () => (await count()) > before);
    await meanwhile();
    return measuring;
  });

/** The k6 of this process, by a variable that only its environment has. */
function k6(): number {
  const [child] = childrenWith('FIRST_USER', process.pid).filter(({ value }) => value !== '');
  if (!child) throw new Error('k6 does not run');
  return child.pid;
}

/** From the first order on. It is over before the load is: at its end k6 sends nothing more. */
const standsStillMs = (seconds * 1_000) / 4;
/** Of the slowest hundredth, since a busy machine sees the first order late. */
const waitMsMin = 300;

describe.skipIf(lacksK6)('the open model', () => {
  test('sends what is due and no more, and every accepted order is recorded', async () => {
    const { answers, dropped, recorded, cpu } = await measure();
    const { accepted = 0 } = answers;
    // k6 itself may stand still for a while.
    expect(accepted).toBeGreaterThan((rate * seconds) / 3);
    expect(accepted).toBeLessThanOrEqual(rate * seconds);
    expect(answers).toEqual({ accepted });
    expect({ dropped, recorded }).toEqual({ dropped: 0, recorded: accepted });
    for (const role of ['load', 'nginx', 'api', 'redis', 'worker', 'database'] as const)
      expect(cpu[role], role).toBeGreaterThan(0);
  });

  test('counts the wait for a service that stands still', async () => {
    const { p99Ms, reasons, isGood } = await measure(async () => {
      await lab().server('nginx').pause();
      await sleep(standsStillMs);
      await lab().server('nginx').resume();
    });
    expect(p99Ms).toBeGreaterThan(waitMsMin);
    expect(reasons).toContain('p99 above 50 ms');
    expect(isGood).toBe(false);
  });

  test('counts the time for which k6 itself stands still: its requests were due', async () => {
    const { p99Ms, isGood } = await measure(async () => {
      const pid = k6();
      process.kill(pid, 'SIGSTOP');
      await sleep(standsStillMs);
      process.kill(pid, 'SIGCONT');
    });
    expect(p99Ms).toBeGreaterThan(waitMsMin);
    expect(isGood).toBe(false);
  });
});
