/** Every order of two buyers on every rung of chapters 1 to 4, with the locks of every server. */
import { expect, test } from 'vitest';
import { allOrdersExperiment } from '../../src/lab/play/all-orders.ts';
import { rungsWithOrders } from '../../src/lab/play/set-up.ts';
import { play } from '../../src/lab/stage/runner.ts';
import { theLab } from '../support/own-lab.ts';

const lab = theLab(null);

test('a rung breaks under some order when the ladder says so, and under none otherwise', async () => {
  const { signal } = new AbortController();
  const session = { lab: lab(), signal, untilInterrupted: <T>(part: Promise<T>) => part };
  const result = await play(
    'all-orders',
    allOrdersExperiment(),
    { rungs: rungsWithOrders },
    session,
  );
  expect(result).toMatchObject({ verdict: 'held', reasons: [] });
  expect(result.figures).toMatchObject({ rungs: rungsWithOrders.length });
}, 360_000);
