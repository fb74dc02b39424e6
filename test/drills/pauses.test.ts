/**
 * Pauses: the n-th request that reaches a checkpoint waits there, and the rush continues around it.
 */
import { expect, test } from 'vitest';
import { defaults } from '../../src/lab/drills/demo-plan.ts';
import { runRung } from '../../src/lab/drills/run-rung.ts';
import { withStage } from '../../src/lab/stage/stage.ts';
import { labTokenSecret } from '../../src/service/config.ts';
import { signToken } from '../../src/service/http/tokens.ts';
import type { RungName } from '../../src/service/ladder/rungs.ts';
import type { HistoryEvent } from '../../src/service/trace/history.ts';
import { theLab } from '../support/own-lab.ts';

const shape = { instances: 1, balancer: 'nginx' } as const;
const lab = theLab(shape);

/** A sale without any work: only a pause can stop it. */
async function rushWith(
  pause: string,
  rung: RungName = 'stock-positive',
): Promise<readonly HistoryEvent[]> {
  const request = { ...defaults, ...shape, rung, workMs: 0, users: 20, pauses: [pause] };
  const { facts } = await withStage(lab(), new AbortController().signal, (stage) =>
    runRung(request, stage),
  );
  return facts.history ?? [];
}

const reached = (history: readonly HistoryEvent[], name: string) =>
  history.filter(({ checkpoint }) => checkpoint === name);
const ms = (from: HistoryEvent | undefined, to: HistoryEvent | undefined) =>
  Number(BigInt(to?.at ?? 0) - BigInt(from?.at ?? 0)) / 1e6;

test('a pause for a time lasts that long, and stops the n-th request only', async () => {
  const history = await rushWith('before-commit:3:4000');
  const stayed = reached(history, 'before-commit').map((arrival) => {
    const next = history.find(
      ({ orderId, at }) => orderId === arrival.orderId && BigInt(at) > BigInt(arrival.at),
    );
    return ms(arrival, next);
  });
  expect(stayed.filter((each) => each >= 3_999)).toHaveLength(1);
});

test('a pause until another request reaches a checkpoint shows a lost update without any work', async () => {
  const history = await rushWith('after-check:1:before-commit', 'read-then-write');
  const [paused] = reached(history, 'after-check'); // One process counts them in this order.
  const commits = reached(history, 'before-commit').map(({ orderId }) => orderId);
  expect(commits.indexOf(paused?.orderId ?? '')).toBeGreaterThan(0);
});

test('a malformed pause is refused, and nothing is sold', async () => {
  const token = await signToken(labTokenSecret, '7', 'user');
  const answer = await fetch(`${lab().baseUrl}/vouchers/1/orders`, {
    method: 'POST',
    headers: { 'x-lab-pauses': 'somewhere:1:500', authorization: `Bearer ${token}` },
  });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({
    code: 'invalid-request',
    detail: expect.stringContaining('after-check:1:500'),
  });
});
