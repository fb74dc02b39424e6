/** Holds: the n-th who passes a checkpoint of a sale waits there, and the rush goes on around it. */
import { expect, test } from 'vitest';
import { defaults } from '../../src/lab/drills/demo-plan.ts';
import { runRung } from '../../src/lab/drills/run-rung.ts';
import { withConnections } from '../../src/lab/environment/lab-connections.ts';
import type { RungName } from '../../src/ladder/rungs.ts';
import type { HistoryEvent } from '../../src/trace/history.ts';
import { theLab } from '../support/the-lab.ts';

const shape = { instances: 1, balancer: 'nginx' } as const;
const lab = theLab(shape);

/** The fastest sale there is: without a hold, nothing would stop it anywhere. */
async function rushWith(
  hold: string,
  rung: RungName = 'stock-positive',
): Promise<readonly HistoryEvent[]> {
  const request = { ...defaults, ...shape, rung, workMs: 0, users: 20, holds: [hold] };
  const { facts } = await withConnections(lab(), (connections) =>
    runRung(request, lab(), connections),
  );
  return facts.history ?? [];
}

const passed = (history: readonly HistoryEvent[], name: string) =>
  history.filter(({ checkpoint }) => checkpoint === name);
const ms = (from: HistoryEvent | undefined, to: HistoryEvent | undefined) =>
  Number(BigInt(to?.at ?? 0) - BigInt(from?.at ?? 0)) / 1e6;

test('for a time: that long at least, and only the n-th', async () => {
  const history = await rushWith('before-commit:3:400');
  const stayed = passed(history, 'before-commit').map((arrival) => {
    const next = history.find(
      ({ orderId, at }) => orderId === arrival.orderId && BigInt(at) > BigInt(arrival.at),
    );
    return ms(arrival, next);
  });
  expect(stayed.filter((each) => each >= 399)).toHaveLength(1);
});

test('until another request gets to a checkpoint: a lost update that no work time would show', async () => {
  const history = await rushWith('after-check:1:before-commit', 'read-then-write');
  const [held] = passed(history, 'after-check'); // One process: they are counted in this order.
  const commits = passed(history, 'before-commit').map(({ orderId }) => orderId);
  expect(commits.indexOf(held?.orderId ?? '')).toBeGreaterThan(0);
});

test('a hold that cannot be read is refused, and nothing is sold', async () => {
  const answer = await fetch(`${lab().baseUrl}/vouchers/1/orders`, {
    method: 'POST',
    headers: { 'x-lab-holds': 'somewhere:1:500' },
  });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({
    code: 'invalid-request',
    detail: expect.stringContaining('after-check:1:500'),
  });
});
